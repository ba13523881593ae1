"""Numbers of several runs in one."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence

STEPS = 6
LEAST = 0.01  # below that a histogram tells no difference


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed; 0 of none."""
    if not values:
        return 0.0
    rank = max(1, math.ceil(share * len(values)))
    return sorted(values)[rank - 1]


def histogram(values: Sequence[float]) -> list[tuple[float, int]]:
    """How many there are up to each bound, those of the bound before left out; six bounds a power of ten."""
    counted: Counter[int] = Counter(math.ceil(STEPS * math.log10(max(value, LEAST))) for value in values)
    if not counted:
        return []
    return [(10 ** (step / STEPS), counted[step]) for step in range(min(counted), max(counted) + 1)]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Median and extremes, for people."""
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}})"
