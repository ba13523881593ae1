"""Running one schedule, and finding out whether the operator kept its promises."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

from seamark.cluster.embedded.status import ApiError
from seamark.core import log as seamark_log
from tests.simulation import loop
from tests.simulation.faults import CHANGES_HISTORY, ON_REQUEST, Fault, Injection, Plan
from tests.simulation.invariants import check_record
from tests.simulation.sample import SampleScenario
from tests.simulation.scenario import Scenario, Violation
from tests.simulation.world import World

SCENARIOS: dict[str, type[Any]] = {"sample": SampleScenario}
BOUND = 400.0  # seconds after the last trouble in which all must be as it should
DAY = 24 * 3600.0


@dataclass(frozen=True)
class Schedule:
    """What makes a run: the family, the seed of its chances, the faults, and how impatient its users are."""

    family: str
    seed: int = 0
    plan: Plan = ()
    hasty: bool = False  # users do not wait for rest between two acts

    def __str__(self) -> str:
        return f"{self.family} seed={self.seed} hasty={self.hasty} plan={','.join(map(str, self.plan))}"


@dataclass
class Outcome:
    schedule: Schedule
    violation: Violation | None
    requests: int
    log: bytes
    story: list[str] = field(repr=False)
    summary: Any = None


def simulate(schedule: Schedule) -> Outcome:
    scenario: Scenario = SCENARIOS[schedule.family]()
    return loop.run(_run(scenario, schedule))


async def _run(scenario: Scenario, schedule: Schedule) -> Outcome:
    world = World(scenario, schedule.seed, schedule.plan)
    violation: Violation | None = None
    try:
        await _drive(world, schedule)
        compare(world, schedule)
    except Violation as broken:
        violation = broken
    finally:
        await world.end()
    return Outcome(schedule, violation, world.requests, world.log(), world.story, scenario.summary(world))


async def _drive(world: World, schedule: Schedule) -> None:
    for manifest in _manifests(schedule.family):
        world.store.create(manifest)
    world.scenario.attach(world)
    world.live()
    await _act(world, schedule)
    await rest(world)
    world.check()
    await a_day_without_writes(world)
    check_record(world)


@cache
def _manifests(family: str) -> list[dict[str, Any]]:
    return [crd.manifest() for crd in SCENARIOS[family].crds]


async def _act(world: World, schedule: Schedule) -> None:
    chance = Random(schedule.seed)
    for step in world.scenario.steps():
        if schedule.hasty:
            await asyncio.sleep(chance.choice((0, 0.001, 0.01, 0.1, 1, 5)))
        else:
            await rest(world)
        world.act(step.words)
        with suppress(ApiError):  # what it is about may be gone, with the past it was made in
            step.act(world)
    await asyncio.sleep(0.2)


async def rest(world: World) -> None:
    """Until all is as it should be, in the time that is promised."""
    pause = 0.05
    while True:
        world.check()
        words = world.scenario.unsettled(world) if world.idle else "the operator works"
        if not words:
            return
        deadline = max(world.last_trouble, world.acted) + BOUND
        now = world.clock.monotonic()
        if now > deadline:
            raise Violation("convergence", f"{BOUND:g} s after the last trouble: {words}")
        await asyncio.sleep(pause)
        pause = min(30.0, pause * 1.5)


async def a_day_without_writes(world: World) -> None:
    """At rest, nothing is written."""
    before = len(world.writes)
    await asyncio.sleep(DAY)
    world.check()
    if len(world.writes) > before:
        write = world.writes[before]
        raise Violation("at rest", f"{write.method} {write.path} at {write.time:.0f} s")
    if words := world.scenario.unsettled(world):
        raise Violation("stays so", words)


_undisturbed: dict[str, Outcome] = {}


def undisturbed(family: str) -> Outcome:
    """The run without faults, once. To be called before any other run: loops do not nest."""
    if family not in _undisturbed:
        _undisturbed[family] = simulate(Schedule(family))
    return _undisturbed[family]


def compare(world: World, schedule: Schedule) -> None:
    """A run with faults ends like one without, and made and deleted as much."""
    if not schedule.plan or schedule.hasty or set(world.befallen) & set(CHANGES_HISTORY):
        return
    expected, got = undisturbed(schedule.family).summary, world.scenario.summary(world)
    if expected != got:
        raise Violation("same end", f"expected {expected}, got {got}")


# ---- schedules


def every_request_times_every_fault(family: str) -> list[Schedule]:
    requests = undisturbed(family).requests
    return [
        Schedule(family, plan=(Injection(number, fault.name),)) for number in range(1, requests + 1) for fault in Fault
    ]


def swarm(family: str, seed: int) -> Schedule:
    """A random schedule: its own subset of faults, its own places."""
    chance = Random(seed)
    requests = undisturbed(family).requests
    subset = chance.sample(list(Fault), chance.randint(1, 6))
    count = chance.randint(1, 5)
    places = sorted(chance.randint(1, requests + 5) for _ in range(count))
    plan = tuple(Injection(place, chance.choice(subset).name) for place in places)
    return Schedule(family, seed, plan, hasty=chance.random() < 0.5)


def pairs(family: str, seed: int) -> Schedule:
    """Two faults close to each other."""
    chance = Random(seed)
    first = chance.randint(1, undisturbed(family).requests)
    second = first + chance.randint(1, 4)
    faults = [chance.choice(list(ON_REQUEST)), chance.choice(list(Fault))]
    plan = tuple(Injection(place, fault.name) for place, fault in zip((first, second), faults, strict=True))
    return Schedule(family, seed, plan)


def quiet_logs() -> None:
    seamark_log.configure("critical")
