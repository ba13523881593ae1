"""CEL's values in Python: numbers, strings, lists and maps are Python's own; the rest is here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

TYPE_NAMES = ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type")


class CelError(Exception):
    """An expression can't be evaluated: a missing key, a division by zero, operands that do not fit."""


class SyntaxProblem(Exception):
    """The text is no expression, or one above a limit."""


INT_MAX, INT_MIN, UINT_MAX = 2**63 - 1, -(2**63), 2**64 - 1


class UInt(int):
    """An unsigned integer: a number that is not equal in type to an int."""


class Type(str):
    """What `type(x)` gives."""

    __slots__ = ()


class Optional:
    """A value that may be missing, as `?.` and `optional.of` make them."""

    __slots__ = ("present", "value")

    def __init__(self, present: bool, value: Any = None) -> None:
        self.present = present
        self.value = value


NONE = Optional(present=False)


def type_name(value: Any) -> str:
    for kind, name in (
        (bool, "bool"),
        (UInt, "uint"),
        (int, "int"),
        (float, "double"),
        (Type, "type"),
        (str, "string"),
        (bytes, "bytes"),
        (list, "list"),
        (dict, "map"),
        (datetime, "google.protobuf.Timestamp"),
        (timedelta, "google.protobuf.Duration"),
    ):
        if isinstance(value, kind):
            return name
    if value is None:
        return "null_type"
    return getattr(value, "cel_type", type(value).__name__)


def no_overload(name: str) -> CelError:
    return CelError(f"no such overload: {name}")


_ORDERED: tuple[Any, ...] = ((int, float), (str,), (bytes,), (datetime,), (timedelta,))


def compare(left: Any, right: Any, name: str) -> int:
    if isinstance(left, bool) and isinstance(right, bool):
        return int(left) - int(right)
    for kinds in _ORDERED:
        if isinstance(left, kinds) and isinstance(right, kinds) and not isinstance(left, bool | Type):
            if isinstance(right, bool):
                break
            return int(left > right) - int(left < right)
    if hasattr(left, "compare_to") and type(left) is type(right):
        result: int = left.compare_to(right)
        return result
    raise no_overload(name)


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_LONGEST_DURATION = 100  # characters


def parse_duration(text: str) -> timedelta:
    """`1h30m`, `-1.5s`, `0`: Go's notation."""
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    try:
        total = 0.0 if unsigned == "0" else _seconds(unsigned)
        return timedelta(seconds=-total if text.startswith("-") else total)
    except (ValueError, KeyError, OverflowError):
        raise CelError(f'time: invalid duration "{text[:_LONGEST_DURATION]}"') from None


def _seconds(text: str) -> float:
    if not text or len(text) > _LONGEST_DURATION:
        raise ValueError
    total, at = 0.0, 0
    while at < len(text):
        unit = _skip(text, at, digits=True)
        end = _skip(text, unit, digits=False)
        total += float(text[at:unit]) * _UNITS[text[unit:end]]
        at = end
    return total


def _skip(text: str, at: int, *, digits: bool) -> int:
    while at < len(text) and (text[at] in "0123456789.") is digits:
        at += 1
    return at


def parse_timestamp(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CelError(f'parsing time "{text[:_LONGEST_DURATION]}" failed') from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
