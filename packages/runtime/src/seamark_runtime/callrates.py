"""A limit on recurring calls: so many a second over all targets of a family, however many targets there are.

- A `Rate` belongs to a family of calls with the same interval. While they fit, a call keeps its interval. With more of
  them, the interval, the shelf life and the pauses after failures stretch by the same factor: the declared ratio of
  shelf life and interval holds at every size.
- The factor follows the number of wanted calls. When it has fallen to half, pending repetitions are brought forward.
- Repetitions are spread: two of one family are at least `1 / per_second` apart, and each comes within two intervals.
- A first call is not delayed: it answers a change that a user has just made.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so many repetitions a second over all calls of the family."""

    family: str
    per_second: float


@dataclass(eq=False, slots=True)
class Pace:
    """The repetitions of one family of calls with one interval."""

    rate: Rate
    every: float
    calls: int = 0  # wanted now
    free: float = 0.0  # the earliest moment that no repetition has reserved
    widest: float = 1.0  # the largest stretch since repetitions were brought forward

    @property
    def stretch(self) -> float:
        return max(1.0, self.calls / (self.rate.per_second * self.every))

    def joined(self) -> None:
        self.calls += 1
        self.widest = max(self.widest, self.stretch)

    def left(self) -> bool:
        """Whether pending repetitions are to be brought forward: there are half as many calls as there were."""
        self.calls -= 1
        if self.stretch > self.widest / 2:
            return False
        self.widest, self.free = self.stretch, 0.0
        return True

    def reserve(self, due: float) -> float:
        """When a call is repeated that is due then: not together with others, and within another interval."""
        moment = min(max(due, self.free), due + self.every * self.stretch)
        if moment >= self.free:
            self.free = moment + 1 / self.rate.per_second
        return moment


class Paces:
    """One `Pace` for each family and interval in use."""

    def __init__(self) -> None:
        self._paces: dict[tuple[Rate, float], Pace] = {}

    def join(self, rate: Rate | None, every: float) -> Pace | None:
        if rate is None:
            return None
        pace = self._paces.setdefault((rate, every), Pace(rate, every))
        pace.joined()
        return pace

    def leave(self, pace: Pace) -> bool:
        """Whether its pending repetitions are to be brought forward."""
        forward = pace.left()
        if not pace.calls:
            del self._paces[(pace.rate, pace.every)]
        return forward
