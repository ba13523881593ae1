"""Durations as the Gateway API spells them: 1h30m, 10s, 500ms."""

from __future__ import annotations

from seamark_runtime.untrusted.patterns import Pattern

UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
WHOLE = Pattern(r"([0-9]{1,10}(?:h|ms|m|s)){1,8}")
PART = Pattern(r"([0-9]{1,10})(ms|h|m|s)")
LONGEST = "99999h"  # the largest that the Gateway API takes
MOST_SECONDS = 99_999 * 3600.0 + 3600.0


def seconds(text: str | None) -> float | None:
    """None if it is not set, not readable, or longer than the longest duration."""
    if not text or not WHOLE.fullmatch(text):
        return None
    found = sum(int(part[1]) * UNITS[part[2]] for part in PART.finditer(text))
    return found if found <= MOST_SECONDS else None
