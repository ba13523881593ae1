"""Quantities as the API server writes them: what is rendered otherwise would differ from what stands, for ever."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

FORM = re.compile(r"(\d+\.?\d*|\.\d+)(m|k|[MGTPE]i?|Ki|[eE][-+]?\d+)?")
DECIMAL = {"m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
SMALLEST = Decimal(1).scaleb(-9)


def canonical(text: str) -> str:
    """The same amount; what is no quantity stays as it is, for the API server to refuse."""
    match = FORM.fullmatch(text)
    if match is None:
        return text
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix in BINARY:
        return _binary(number * 2 ** BINARY[suffix])
    if suffix in DECIMAL:
        return _decimal(number.scaleb(DECIMAL[suffix]), {-9: "n", -6: "u", **{e: s for s, e in DECIMAL.items()}})
    exponents = {e: f"e{e}" if e else "" for e in range(-9, 19, 3)}
    return _decimal(number.scaleb(int(suffix[1:])), exponents)


def _decimal(amount: Decimal, suffixes: dict[int, str]) -> str:
    amount = amount.quantize(SMALLEST, rounding=ROUND_CEILING) if amount % SMALLEST else amount
    for exponent in sorted(suffixes, reverse=True):
        scaled = amount.scaleb(-exponent)
        if scaled == scaled.to_integral_value() and (scaled or not exponent):
            return f"{int(scaled)}{suffixes[exponent]}"
    return str(amount)


def _binary(amount: Decimal) -> str:
    if amount < 1024:
        return _decimal(amount, {-9: "n", -6: "u", **{e: s for s, e in DECIMAL.items()}})
    whole = int(amount.to_integral_value(rounding=ROUND_CEILING))
    for suffix, power in sorted(BINARY.items(), key=lambda one: -one[1]):
        if whole % 2**power == 0:
            return f"{whole // 2**power}{suffix}"
    return str(whole)
