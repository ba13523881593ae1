"""Kubernetes quantities (500m, 1.5Gi, 1e3): parsed exactly, written in the API server's canonical form.

Limits on untrusted text: at most 128 characters, ASCII digits, and an exponent of at most three digits. Within them
parsing and writing take a bounded time.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from seamark_runtime.untrusted.patterns import Pattern

MAX_LENGTH = 128
SYNTAX = Pattern(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]{1,3}))?")
BINARY = {suffix: 1024**power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
SUFFIXES = {exponent: suffix for suffix, exponent in sorted(DECIMAL.items(), key=lambda item: -item[1])}
MESSAGE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
EXPONENT = "e"  # stands for any exponent as the suffix of a Quantity


class InvalidQuantity(ValueError):
    """The text is not a quantity within the limits. The message is the API server's."""


class Quantity(NamedTuple):
    """An exact amount, and the suffix it was written with: "", "m", "Gi", …, or EXPONENT."""

    amount: Fraction
    suffix: str = ""

    def __str__(self) -> str:
        """The canonical form. Amounts below 1n are rounded up to it, as the API server does."""
        if not self.amount:
            return "0"
        sign, amount = "-" if self.amount < 0 else "", abs(self.amount)
        if self.suffix in BINARY and amount.denominator == 1 and amount >= 1024:
            return sign + _binary(int(amount))
        return sign + _decimal(amount, exponent=self.suffix == EXPONENT)


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    match = SYNTAX.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        raise InvalidQuantity(MESSAGE)
    sign, number, suffix, exponent = match.groups()
    value = Fraction(f"{sign}{(number or '').rstrip('.')}")
    if exponent is not None:
        return Quantity(value * Fraction(10) ** int(exponent), EXPONENT)
    suffix = suffix or ""
    return Quantity(value * (BINARY.get(suffix) or Fraction(10) ** DECIMAL[suffix]), suffix)


def amount_of(text: str) -> Fraction:
    return parse(text).amount


def canonical(text: str) -> str:
    return str(parse(text))


def _binary(amount: int) -> str:
    for suffix, factor in reversed(BINARY.items()):
        if amount % factor == 0:
            return f"{amount // factor}{suffix}"
    return str(amount)


def _decimal(amount: Fraction, *, exponent: bool) -> str:
    nanos = -(-amount.numerator * 10**9 // amount.denominator)
    power = next(power for power in SUFFIXES if nanos % 10 ** (power + 9) == 0)
    suffix = SUFFIXES[power] if not exponent or not power else f"e{power}"
    return f"{nanos // 10 ** (power + 9)}{suffix}"
