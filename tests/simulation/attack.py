"""The order of attack: a seed is a schedule.

- First every request of every scenario times every fault.
- Then in turns: every two faults at every two neighbouring requests of a small scenario, until all had their turn;
  pairs close to each other in the large ones; and swarms, each with a subset of faults of its own, without end.
- The same number is the same schedule, on every machine, as long as the code does not change its requests.
"""

from __future__ import annotations

from random import Random

from tests.simulation.runner import FAMILIES, undisturbed
from tests.simulation.schedules import ELECTION, Schedule, all_pairs, every_request_times_every_fault, pair, swarm

SMALL = "unverified"  # few requests: all pairs of faults can be tried
CORE = ("sample", SMALL, ELECTION)
GROUPS: dict[str, tuple[str, ...]] = {"core": CORE, **{family: (family,) for family in FAMILIES}}


class Attack:
    """The schedules of one family, or of a group of them, by number."""

    def __init__(self, group: str) -> None:
        self._families = GROUPS[group]
        self._requests = {family: undisturbed(family).requests for family in self._families}
        self.singles = [
            schedule
            for family, requests in self._requests.items()
            for schedule in every_request_times_every_fault(family, requests)
        ]
        self.pairs = list(all_pairs(SMALL, self._requests[SMALL])) if SMALL in self._families else []
        Random(0).shuffle(self.pairs)  # so that the first few are of all kinds

    def schedule(self, seed: int) -> Schedule:
        if seed < len(self.singles):
            return self.singles[seed]
        number = seed - len(self.singles)
        if number % 2 and number // 2 < len(self.pairs):
            return self.pairs[number // 2]
        family = self._families[0] if seed % 10 < 8 else self._families[seed // 10 % len(self._families)]
        kind = pair if seed % 4 > 1 else swarm
        return kind(family, seed, self._requests[family])
