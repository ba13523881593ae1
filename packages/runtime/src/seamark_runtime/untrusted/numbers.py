"""Numbers in text that an untrusted party wrote.

- `int` and `float` accept more than people expect (`" 1 "`, `1_000`, `١٢`, `1e999`), and raise an undeclared error for
  more than 4,300 digits. A test forbids them for tenant text in families and providers; this module is what to use.
"""

from __future__ import annotations

from itertools import islice

from seamark_runtime.untrusted.patterns import Pattern

_DIGITS = Pattern(r"[0-9]{1,9}")


class InvalidNumber(ValueError):
    """The text is not a number within its limits. The message names the limits and fits after the name of a field."""


def integer(text: str, minimum: int, maximum: int) -> int:
    """The whole number that the text is: ASCII digits, with a minus sign where the minimum allows it."""
    digits = text.removeprefix("-") if minimum < 0 else text
    longest = len(str(max(abs(minimum), abs(maximum))))
    if digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) <= longest:
        value = int(digits.lstrip("0") or "0") * (1 if digits == text else -1)
        if minimum <= value <= maximum:
            return value
    shown = text if len(text) <= 40 else text[:40] + "..."
    raise InvalidNumber(f"{shown!a} is not a whole number from {minimum} to {maximum}")


def version_numbers(version: str) -> tuple[int, ...]:
    """The first three numbers of a version, to compare by: (1, 6, 1) of v1.6.1-rc.2."""
    return tuple(int(found[0]) for found in islice(_DIGITS.finditer(version), 3))
