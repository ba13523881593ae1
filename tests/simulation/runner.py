"""Running one schedule, and finding out whether the operator kept its promises."""

from __future__ import annotations

import asyncio
import gc
import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

from seamark_cluster.embedded.machinery.errors import ApiError
from seamark_runtime import log as seamark_log
from tests.simulation import loop
from tests.simulation.bindings.scenario import BindingsScenario
from tests.simulation.dns import DnsScenario
from tests.simulation.election import Election
from tests.simulation.faults import CHANGES_HISTORY, LEAKS, Plan
from tests.simulation.gateway import GatewayScenario
from tests.simulation.invariants import check_record, check_secrets
from tests.simulation.loadbalancer import LoadBalancerScenario
from tests.simulation.sample.scenario import SampleScenario
from tests.simulation.sample.untrusted import UntrustedScenario
from tests.simulation.sample.unverified import UnverifiedScenario
from tests.simulation.scenario import Scenario, Step, Violation
from tests.simulation.schedules import ELECTION, LEASES, TENANTS, Schedule, simpler
from tests.simulation.score import ScoreScenario
from tests.simulation.score_runtime import ScoreRuntimeScenario
from tests.simulation.slow_leases import SlowLeases
from tests.simulation.tenants import Tenants
from tests.simulation.world import World

SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "sample": SampleScenario,
    "unverified": UnverifiedScenario,
    "untrusted": UntrustedScenario,
    "dns": DnsScenario,
    "bindings": BindingsScenario,
    "score": ScoreScenario,
    "score-runtime": ScoreRuntimeScenario,
    "loadbalancer": LoadBalancerScenario,
    "gateway": GatewayScenario,
}
OF_THEIR_OWN: dict[str, Callable[[int, Plan], Election | SlowLeases | Tenants]] = {
    ELECTION: Election,
    LEASES: SlowLeases,
    TENANTS: Tenants,
}  # worlds that are not made of a scenario
BOUND = 400.0  # seconds after the last trouble in which all must be as it should
CALM = 120.0  # seconds after which a trouble has no echo: every backoff, every watch that is restarted
DAY = 24 * 3600.0
FAMILIES = (*SCENARIOS, ELECTION)


@dataclass
class Outcome:
    schedule: Schedule
    violation: Violation | None
    requests: int
    log: bytes
    story: list[str] = field(repr=False)
    summary: Any = None


def simulate(schedule: Schedule) -> Outcome:
    if schedule.plan:
        undisturbed(schedule.family)  # what to compare with; loops do not nest
    try:
        return loop.run(_drive_own(schedule) if schedule.family in OF_THEIR_OWN else _run(schedule))
    except (loop.NothingLeftError, loop.StandstillError) as error:
        return Outcome(schedule, Violation("time passes", str(error)), 0, b"", [])


async def _drive_own(schedule: Schedule) -> Outcome:
    world = OF_THEIR_OWN[schedule.family](schedule.seed, schedule.plan)
    violation: Violation | None = None
    try:
        await world.drive()
    except Violation as broken:
        violation = broken
    finally:
        await world.end()
    return Outcome(schedule, violation, world.requests, b"\n".join(world.lines), world.story)


async def _run(schedule: Schedule) -> Outcome:
    scenario = SCENARIOS[schedule.family]()
    world = World(scenario, schedule.seed, schedule.plan)
    violation: Violation | None = None
    leaks = any(injection.fault in LEAKS for injection in schedule.plan)
    heard = io.StringIO()
    if leaks:
        seamark_log.configure("debug", out=heard)
    try:
        await _drive(world, schedule)
        compare(world, schedule)
        if leaks:
            check_secrets(world, heard.getvalue())
    except Violation as broken:
        violation = broken
    finally:
        await world.end()
        if leaks:
            quiet_logs()
    return Outcome(schedule, violation, world.requests, world.log(), world.story, scenario.summary(world))


async def _drive(world: World, schedule: Schedule) -> None:
    world.install(_manifests(schedule.family))
    world.live()
    chance = Random(schedule.seed) if schedule.hasty else None
    for step in world.scenario.steps():
        await _step(world, step, chance)
    await asyncio.sleep(0.2)
    await come_to_rest(world)
    await a_day_without_writes(world)
    farewell = world.scenario.farewell()
    began, before = world.clock.monotonic(), len(world.writes)
    world.act(farewell.words)
    farewell.act(world)
    await nothing_is_left(world)
    if not schedule.hasty:
        _economy(world, farewell, began, before)
    check_record(world)


@cache
def _manifests(family: str) -> list[dict[str, Any]]:
    return [crd.manifest() for crd in SCENARIOS[family]().crds]


async def _step(world: World, step: Step, chance: Random | None) -> None:
    if chance is not None:
        await asyncio.sleep(step.wait or chance.choice((0, 0.001, 0.01, 0.1, 1, 5)))
    elif step.wait:
        await asyncio.sleep(step.wait)
    world.act(step.words)
    began, before = world.clock.monotonic(), len(world.writes)
    with suppress(ApiError):  # what it is about may be gone, with the past it was made in
        step.act(world)
    if chance is None:
        await rest(world)
        _economy(world, step, began, before)


def _economy(world: World, step: Step, began: float, before: int) -> None:
    """Where nothing went wrong, an act costs so many writes and not one more."""
    if world.last_trouble > began - CALM and world.troubles:
        return
    if set(world.befallen) & set(CHANGES_HISTORY):
        return
    written = world.writes[before:]
    if len(written) > step.most:
        last = written[-1]
        words = f"{step.words!r} took {len(written)} writes, not {step.most}: the last was {last.method} {last.path}"
        raise Violation("economy", words)


async def rest(world: World, unsettled: Callable[[World], str] | None = None) -> None:
    """Until all is as it should be, in the time that is promised."""
    unsettled = unsettled or world.scenario.unsettled
    pause = 0.05
    while True:
        await asyncio.sleep(pause)
        world.check()
        words = unsettled(world) if world.idle else "the operator works"
        if not words:
            return
        if world.clock.monotonic() > max(world.last_trouble, world.acted) + BOUND:
            raise Violation("convergence", f"{BOUND:g} s after the last trouble: {words}")
        pause = min(30.0, pause * 1.5)


async def come_to_rest(world: World) -> None:
    """All is as it should be, and no trouble has an echo any more."""
    await rest(world)
    for _ in range(1 + len(world.plan)):  # meanwhile there may be new trouble, as often as was planned
        if (wait := _calm_from(world) - world.clock.monotonic()) <= 0:
            return
        await asyncio.sleep(wait)
        await rest(world)


def _calm_from(world: World) -> float:
    return max(world.scenario.quiet_from(world), world.last_trouble + CALM if world.troubles else 0.0)


async def a_day_without_writes(world: World) -> None:
    """At rest, nothing is written. New trouble in the course of the day ends the rest: then it is another day."""
    while True:
        before, troubles = len(world.writes), world.troubles
        await asyncio.sleep(DAY)
        world.check()
        if len(world.writes) == before:
            break
        if world.troubles == troubles:
            write = world.writes[before]
            raise Violation("at rest", f"{write.method} {write.path} at {write.time:.0f} s")
        await come_to_rest(world)
    if words := world.scenario.unsettled(world):
        raise Violation("stays so", words)


async def nothing_is_left(world: World) -> None:
    done = len(world.restores)

    def left(world: World) -> str:
        nonlocal done
        if len(world.restores) > done:
            done = len(world.restores)
            world.act("the past is back: all go once more")
            world.scenario.farewell().act(world)
        return world.scenario.left(world)

    try:
        await rest(world, left)
    except Violation as broken:
        raise Violation("nothing left", str(broken)) if broken.invariant == "convergence" else broken from None


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


def shrink(outcome: Outcome) -> Outcome:
    """The simplest schedule that still breaks the same promise."""
    assert outcome.violation is not None
    for schedule in simpler(outcome.schedule):
        found = simulate(schedule)
        if found.violation is not None and found.violation.invariant == outcome.violation.invariant:
            return shrink(found)
    return outcome


def set_up() -> None:
    """For a process that runs many schedules: no logs, and a garbage collector that knows what stays."""
    quiet_logs()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def quiet_logs() -> None:
    seamark_log.configure("critical")
