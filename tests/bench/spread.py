"""Numbers of several runs in one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed; 0 of none."""
    if not values:
        return 0.0
    rank = max(1, math.ceil(share * len(values)))
    return sorted(values)[rank - 1]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Median and extremes, for people."""
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}})"
