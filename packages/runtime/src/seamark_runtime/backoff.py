"""How long to wait before trying again: doubling, bounded, with jitter. The one rule for queue, watch and calls."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays from `first` to `most` seconds; each lies at random in the upper half of its step."""

    first: float
    most: float

    def pause(self, random: Random, failures: int) -> float:
        """The wait after this many failures in a row (0 for the first)."""
        ceiling = min(self.most, self.first * 2.0 ** min(failures, 30))
        return ceiling * (0.5 + random.random() / 2)
