"""Values that several fields have: percentages, sizes, rules about a text. Each check takes the field's name first."""

from __future__ import annotations

from typing import TypeVar

from seamark.api.trafficfilters import StringMatcher
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane.filters import TextRule
from seamark_runtime.quantity import InvalidQuantity, amount_of
from seamark_runtime.untrusted.patterns import Budget

T = TypeVar("T")
MOST_SIZE = 2**32 - 1  # bytes
MOST_TEXT = 1024


def required(field: str, value: T | None) -> T:
    if value is None:
        raise Unsupported(f"{field} is required")
    return value


def most(field: str, values: tuple[T, ...] | None, count: int) -> tuple[T, ...]:
    """The values, of which there may be this many."""
    limits.at_most(field, values, count)
    return values or ()


def percentage(field: str, value: int) -> int:
    return limits.integer(field, value, 0, 100)


def size(field: str, given: str | int | None) -> int:
    """A number of bytes, written as a quantity: 64Ki."""
    if given is None:
        raise Unsupported(f"{field} is required")
    text = str(given) if isinstance(given, str) or abs(given) <= MOST_SIZE else "-1"
    try:
        amount = amount_of(text)
    except InvalidQuantity:
        raise Unsupported(f"{field}: {limits.shown(text)} is no size; write it as in 65536 or 64Ki") from None
    if amount.denominator != 1 or not 0 < amount <= MOST_SIZE:
        raise Unsupported(f"{field}: must be a whole number of bytes above 0 and below 4Gi")
    return amount.numerator


def text_rule(field: str, given: StringMatcher, budget: Budget) -> TextRule:
    kinds = {
        "exact": given.exact,
        "prefix": given.prefix,
        "suffix": given.suffix,
        "contains": given.contains,
        "safeRegex": given.safe_regex,
    }
    found = [(kind, value) for kind, value in kinds.items() if value is not None]
    if len(found) != 1:
        raise Unsupported(f"{field}: exactly one of {', '.join(kinds)} is required")
    [(kind, value)] = found
    if kind == "safeRegex":
        if given.ignore_case:
            raise Unsupported(f"{field}.ignoreCase: a regular expression has (?i) for that")
        limits.pattern(f"{field}.safeRegex", value, budget)
        return TextRule("regex", value)
    if not (value or kind == "exact") or len(value) > MOST_TEXT:
        raise Unsupported(f"{field}.{kind}: must have from 1 to {MOST_TEXT} characters")
    return TextRule(kind, limits.header_value(f"{field}.{kind}", value), given.ignore_case)
