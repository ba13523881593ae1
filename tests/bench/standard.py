"""The standard benchmark: floor and operator in alternation, then memory, then rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.bench.bare import make_all, make_and_work
from tests.bench.counting import Requests
from tests.bench.report import Drawn, Line
from tests.bench.scenario import Sort
from tests.bench.setting import Load, Setting, names
from tests.bench.spread import median, spread
from tests.bench.subject import Report
from tests.bench.watcher import watching

PATIENCE = 0.5  # seconds an object may take before a run is given up
WARM_UP = 100
ENOUGH = 3
AGEING = 100  # objects with evidence that ages, added for the measurement of rest

Say = Callable[[str], None]


@dataclass(frozen=True)
class Floor:
    seconds: float
    load: Load


@dataclass(frozen=True)
class Operated:
    seconds: float
    load: Load
    cpu: float
    requests: Requests
    report: Report
    took_ms: Sequence[float] = field(default=(), repr=False)


@dataclass(frozen=True)
class Pair:
    floor: Floor
    operated: Operated

    @property
    def ratio(self) -> float:
        return self.operated.seconds / self.floor.seconds

    @property
    def work_ratio(self) -> float:
        """The same by the CPU that all participants used: others on the machine change it less than times."""
        return self.operated.load.work / self.floor.load.work

    @property
    def disturbed(self) -> bool:
        return self.floor.load.disturbance.much or self.operated.load.disturbance.much

    def lines(self) -> list[str]:
        report = self.operated.report
        return [
            f"{self.ratio:.2f} x the floor's time, {self.work_ratio:.2f} x its work{' (disturbed)' * self.disturbed}",
            f"    floor    {self.floor.seconds:.2f} s; {self.floor.load}",
            f"    operator {self.operated.seconds:.2f} s; {self.operated.load}",
            f"    loop lag p99 {report.lag_p99_ms:.1f} ms, max {report.lag_max_ms:.1f} ms, "
            f"longest own work {report.held_max_ms:.1f} ms",
        ]


async def floor(setting: Setting, n: int) -> Floor:
    """All writes, the user's and the operator's, by the bare client."""
    async with watching(setting.bare, setting.scenario, setting.namespace, names(n)) as watcher:
        meter = setting.meter()
        await make_and_work(setting.bare, setting.scenario, setting.namespace, names(n))
        ended = await watcher.until(n, PATIENCE * n)
        measured = Floor(ended - meter.began, meter.read())
    await setting.clear()
    return measured


async def operated(setting: Setting, n: int) -> Operated:
    """The user's writes by the bare client, the operator's by the operator."""
    async with setting.operator() as running:
        await running.quiet()
        async with watching(setting.bare, setting.scenario, setting.namespace, names(n)) as watcher:
            before, mark, meter = await running.reset(), setting.mark(), setting.meter(running)
            await make_all(setting.bare, setting.scenario, setting.namespace, names(n), Sort.PLAIN)
            ended = await watcher.until(n, PATIENCE * n)
            load = meter.read()
        after = await running.quiet()  # what the last answers set off counts, too
        requests = setting.requests(mark)
    await setting.clear()
    return Operated(ended - meter.began, load, after.cpu - before.cpu, requests, after, watcher.took_ms)


async def pairs(setting: Setting, n: int, most: int, seconds: float, say: Say) -> list[Pair]:
    """As many undisturbed ones as asked for, or as many as fit in the time; one at least."""
    began = time.monotonic()
    await floor(setting, min(n, WARM_UP))
    measured: list[Pair] = []
    while sum(not pair.disturbed for pair in measured) < most and len(measured) < 2 * most:
        if measured and (time.monotonic() - began) * (1 + 1 / len(measured)) > seconds:
            say(f"  no time for more than {len(measured)} pairs")
            break
        measured.append(Pair(await floor(setting, n), await operated(setting, n)))
        first, *more = measured[-1].lines()
        say("\n".join([f"  pair {len(measured)}: {first}", *more]))
    return measured


def comparable(measured: Sequence[Pair]) -> list[Pair]:
    """The undisturbed ones, where there are enough of them for a median; else all."""
    undisturbed = [pair for pair in measured if not pair.disturbed]
    return undisturbed if len(undisturbed) >= ENOUGH else list(measured)


@dataclass(frozen=True)
class Memory:
    """Megabytes of one operator before and after it worked on n objects, and of others at their start.

    - `empty` is an operator that has worked and has nothing in its caches any more: its connections are open.
    - `fresh` and `found` are new processes: one finds nothing, the other the n objects.
    """

    fresh: float
    empty: float
    full: float
    found: float
    n: int

    @property
    def per_1000(self) -> float:
        """What the caches add to one process. An object's child, which is cached too, is in its price."""
        return (self.full - self.empty) * 1000 / self.n

    def __str__(self) -> str:
        return (
            f"{self.empty:.1f} MB with empty caches, {self.full:.1f} MB after the work on {self.n} objects of 2 KB; "
            f"new processes: {self.fresh:.1f} MB with nothing to find, {self.found:.1f} MB with all that"
        )


async def memory(setting: Setting, n: int) -> Memory:
    """Leaves the objects behind: they are what is at rest next."""
    async with setting.operator() as running:
        fresh = await running.quiet()
        await _make_and_wait(setting, names(WARM_UP), Sort.PLAIN)
        await running.quiet()
        await setting.clear()
        empty = await running.quiet()
        await _make_and_wait(setting, names(n), Sort.LARGE)
        full = await running.quiet()
    async with setting.operator() as running:
        found = await running.quiet()
    return Memory(fresh.memory_mb, empty.memory_mb, full.memory_mb, found.memory_mb, n)


async def _make_and_wait(setting: Setting, wanted: Sequence[str], sort: Sort) -> None:
    async with watching(setting.bare, setting.scenario, setting.namespace, wanted) as watcher:
        await make_all(setting.bare, setting.scenario, setting.namespace, wanted, sort)
        await watcher.until(len(wanted), PATIENCE * len(wanted) + 10)


async def rest(setting: Setting, n: int) -> tuple[float, Requests]:
    """Twice the longest shelf life and poll with nothing to do: the seconds, and what was asked for in them."""
    async with setting.operator() as running:
        await running.quiet()
        await _make_and_wait(setting, [f"ageing-{name}" for name in names(min(n, AGEING))], Sort.AGEING)
        await running.quiet()
        mark, seconds = setting.mark(), 2 * setting.scenario.at_rest
        await running.remain(seconds)
        return seconds, setting.requests(mark)


async def standard(setting: Setting, n: int, most: int, seconds: float, say: Say) -> tuple[Line, dict[str, Any]]:
    say(f"{n} objects; floor and operator in alternation")
    measured = await pairs(setting, n, most, seconds, say)
    say("memory")
    held = await memory(setting, n)
    say(f"  {held}")
    say("rest")
    resting, idle = await rest(setting, n)
    say(f"  {resting:g} s; {idle}")
    chosen = comparable(measured)
    summary(chosen, n, say)
    say(f"of {len(measured)} pairs {sum(pair.disturbed for pair in measured)} were disturbed; {len(chosen)} count")
    runs = [pair.operated for pair in chosen]
    line = Line(
        n=n,
        requests_per_object=max(pair.operated.requests.counted for pair in measured) / n,
        time_vs_floor=median([pair.ratio for pair in chosen]),
        cpu_ms_per_object=median([1000 * run.cpu / n for run in runs]),
        rss_mb_per_1000=held.per_1000,
        idle_writes=idle.writes.total(),
        loop_lag_p99_ms=median([run.report.lag_p99_ms for run in runs]),
    )
    return line, {"pairs": measured, "memory": held, "rest": idle}


def drawn(measured: Sequence[Pair], n: int, target: float) -> Drawn:
    """What a page shows of those pairs that count."""
    chosen = comparable(measured)
    return Drawn(
        ratios=[pair.ratio for pair in chosen],
        target=target,
        ms_until_done=[took for pair in chosen for took in pair.operated.took_ms],
        sizes=[(n, median([1000 * pair.operated.seconds / n for pair in chosen]))],
    )


def summary(chosen: Sequence[Pair], n: int, say: Say) -> None:
    runs = [pair.operated for pair in chosen]
    say(f"requests: {runs[-1].requests}")
    say(f"time against the floor: {spread([pair.ratio for pair in chosen])}")
    say(f"work of all processes against the floor: {spread([pair.work_ratio for pair in chosen])}")
    say(f"CPU an object, ms: {spread([1000 * run.cpu / n for run in runs])}")
    say(f"loop lag p99, ms: {spread([run.report.lag_p99_ms for run in runs], '.1f')}")
    say(f"longest own work on the loop, ms: {spread([run.report.held_max_ms for run in runs], '.1f')}")
