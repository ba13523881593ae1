"""Quantities: parsed, added up, and written in the one canonical form."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

_PATTERN = re.compile(r"^([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?$")
_BINARY = {suffix: 1024 ** (power + 1) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}
_DECIMAL = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
}


class QuantityError(ValueError):
    """The text is no quantity."""


def parse(text: str) -> Fraction:
    return _parse(str(text))[0]


@lru_cache(maxsize=4096)
def _parse(text: str) -> tuple[Fraction, str]:
    match = _PATTERN.match(text)
    if match is None:
        raise QuantityError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    sign, number, suffix = match.groups()
    suffix = suffix or ""
    value = Fraction(number if not number.endswith(".") else number[:-1])
    if suffix in _BINARY:
        value, form = value * _BINARY[suffix], "binary"
    elif suffix[:1] in ("e", "E") and len(suffix) > 1:
        value, form = value * Fraction(10) ** int(suffix[1:]), "exponent"
    else:
        value, form = value * _DECIMAL[suffix], "decimal"
    return (-value if sign == "-" else value), form


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    value, form = _parse(text)
    return write(value, form)


def write(value: Fraction, form: str = "decimal") -> str:
    sign, value = ("-", -value) if value < 0 else ("", value)
    if value == 0:
        return "0"
    if form == "binary" and value.denominator == 1 and value >= 1024:
        for suffix, factor in reversed(_BINARY.items()):
            if value % factor == 0:
                return f"{sign}{value // factor}{suffix}"
        return f"{sign}{value}"
    for suffix, factor in sorted(_DECIMAL.items(), key=lambda pair: -pair[1]):
        if (value / factor).denominator == 1:
            if form == "exponent" and suffix not in ("",):
                power = len(str(factor.numerator)) - 1 - (len(str(factor.denominator)) - 1)
                return f"{sign}{value // factor}e{power}"
            return f"{sign}{value // factor}{suffix}"
    nanos = -(-value.numerator * 10**9 // value.denominator)
    return write(Fraction(nanos, 10**9), form) if not sign else f"-{write(Fraction(nanos, 10**9), form)}"
