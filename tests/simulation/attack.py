"""The order of attack: a seed is a schedule.

- First every request of every scenario times every fault, then pairs and swarms in turns, without end.
- The same number is the same schedule, on every machine, as long as the code does not change its requests.
"""

from __future__ import annotations

from tests.simulation.runner import FAMILIES, undisturbed
from tests.simulation.schedules import ELECTION, Schedule, every_request_times_every_fault, pair, swarm

CORE = ("sample", "unverified", ELECTION)
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

    def schedule(self, seed: int) -> Schedule:
        if seed < len(self.singles):
            return self.singles[seed]
        family = self._families[0] if seed % 10 < 8 else self._families[seed // 10 % len(self._families)]
        kind = pair if seed % 2 else swarm
        return kind(family, seed, self._requests[family])
