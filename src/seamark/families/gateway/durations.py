"""Durations as the Gateway API spells them: 1h30m, 10s, 500ms."""

from __future__ import annotations

import re

UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
WHOLE = re.compile(r"(\d+(?:h|ms|m|s))+")
PART = re.compile(r"(\d+)(ms|h|m|s)")


def seconds(text: str | None) -> float | None:
    """None where nothing, or nothing readable, is said: the API server has checked the form."""
    if not text or not WHOLE.fullmatch(text):
        return None
    return sum(int(number) * UNITS[unit] for number, unit in PART.findall(text))
