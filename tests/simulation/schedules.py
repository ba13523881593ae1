"""Which schedules there are, and in which order they attack.

1. Every request of a scenario times every fault.
2. Pairs of faults: all of them at neighbouring requests of a small scenario, some of them in large ones.
3. Swarms: each seed has its own subset of faults, its own places, and users who wait for rest or do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from tests.simulation.faults import ALONE, IN_ELECTIONS, ON_REQUEST, Fault, Injection, Plan, parse


@dataclass(frozen=True)
class Schedule:
    """What makes a run: the family, the seed of its chances, the faults, and how impatient its users are."""

    family: str
    seed: int = 0
    plan: Plan = ()
    hasty: bool = False  # users do not wait for rest between two acts

    def __str__(self) -> str:
        pace = "hasty" if self.hasty else "calm"
        return f"{self.family}/{self.seed}/{pace}/{','.join(map(str, self.plan))}"

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """The schedule that a printed one stands for."""
        parts = text.strip().split("/")
        if len(parts) != 4 or not parts[1].isdigit() or parts[2] not in ("hasty", "calm"):
            raise ValueError(f"{text!r} is no schedule: it should read like sample/7/calm/12:CRASH_AFTER,30:GONE")
        return cls(parts[0], int(parts[1]), parse(parts[3]), hasty=parts[2] == "hasty")


ELECTION = "election"
LEASES, TENANTS = "leases", "tenants"  # all of their chances follow from the seed: they have no faults at requests


def faults_of(family: str) -> tuple[Fault, ...]:
    return IN_ELECTIONS if family == ELECTION else ALONE


def every_request_times_every_fault(family: str, requests: int) -> list[Schedule]:
    places = range(1, requests + 1)
    return [Schedule(family, plan=(Injection(number, fault.name),)) for fault in faults_of(family) for number in places]


def _first(family: str) -> tuple[Fault, ...]:
    return tuple(fault for fault in faults_of(family) if fault in ON_REQUEST)


def swarm(family: str, seed: int, requests: int) -> Schedule:
    chance = Random(seed)
    subset = chance.sample(faults_of(family), chance.randint(1, 6))
    places = sorted(chance.randint(1, requests + 5) for _ in range(chance.randint(1, 5)))
    plan = tuple(Injection(place, chance.choice(subset).name) for place in places)
    return Schedule(family, seed, plan, hasty=chance.random() < 0.5)


def pair(family: str, seed: int, requests: int) -> Schedule:
    chance = Random(seed)
    first = chance.randint(1, requests)
    second = first + chance.randint(1, 4)
    faults = [chance.choice(_first(family)), chance.choice(faults_of(family))]
    plan = tuple(Injection(place, fault.name) for place, fault in zip((first, second), faults, strict=True))
    return Schedule(family, seed, plan)


def all_pairs(family: str, requests: int) -> Iterator[Schedule]:
    """Every fault of a request, and then every fault at the next one."""
    for first in range(1, requests + 1):
        for one in _first(family):
            for other in faults_of(family):
                yield Schedule(family, plan=(Injection(first, one.name), Injection(first + 1, other.name)))


def simpler(schedule: Schedule) -> Iterator[Schedule]:
    """Schedules with a little less in them."""
    for number in range(len(schedule.plan)):
        yield replace(schedule, plan=schedule.plan[:number] + schedule.plan[number + 1 :])
    if schedule.hasty:
        yield replace(schedule, hasty=False)
    if schedule.seed:
        yield replace(schedule, seed=0)
