"""The course of FAMILY=bindings: what the edge lists, deleted again, beside some that can't be reached, in thousands;
rest; then the forwarder."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_runtime.api.core import Service
from seamark_runtime.errors import SeamarkError
from tests.bench.families.floors import least, unmark
from tests.bench.process import OperatorProcess
from tests.bench.report import Drawn, Finished, Line, above, line_of, save
from tests.bench.scenario import Write
from tests.bench.setting import NAMESPACES, Setting, setting
from tests.bench.spread import median, spread
from tests.bench.watcher import watching

N = 300
UNREACHABLE = 100
MANY = 5000
PATIENCE = 0.5
MOST_GROWTH = 2.1  # of CPU, from N to 2N
AS_THE_FLOOR = 1.05  # of the floor's growth: so much does a ratio of two runs vary
Say = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    floor: float
    seconds: float
    requests: float
    deletion_seconds: float
    deletion_requests: float
    cpu: float
    memory_mb: float
    lag_p99_ms: float
    took_ms: list[float] = field(default_factory=list, repr=False)

    @property
    def ratio(self) -> float:
        return self.seconds / self.floor


@dataclass(frozen=True)
class Size:
    """Many at once, beside the bare client's time for the same writes: the API server too gets slower as it fills."""

    n: int
    floor: float
    seconds: float
    cpu: float
    memory_mb: float


def urls(n: int, silent: int = 0) -> dict[str, str]:
    """Names of objects and their URLs; the last ones never answer."""
    from tests.bench.families.bindings import target  # noqa: PLC0415  # it names this module as its course

    found = [target(number, silent=number >= n - silent) for number in range(n)]
    return {one.name: one.url for one in found}


async def bench(asked: Any, say: Say) -> Finished:
    from tests.bench.families.bindings import FILE  # noqa: PLC0415
    from tests.bench.families.bindings_forward import forward  # noqa: PLC0415

    directory = Path(tempfile.mkdtemp(prefix="seamark-bench-bindings-"))
    listing = directory / "bound.json"
    listing.write_text("[]")
    os.environ[FILE] = str(listing)
    n = N if asked.n == 1000 else asked.n  # 1000 is the default
    async with setting("bindings") as where:
        await where.bare.write(Write("POST", NAMESPACES, {"metadata": {"name": "users"}}))
        line, details, sizes, words, shown = await _bench(where, listing, n, asked, say)
    say("the forwarder, against connections to the ingress without one")
    carried = await forward(directory, say)
    saved = save("bindings", "standard", {**details, "forwarder": asdict(carried)}, drawn=shown)
    say(f"details are in {saved}")
    carries = f"forward_throughput={carried.throughput:.2f} forward_connections={carried.connections:.2f}"
    missed = [*line.missed(where.scenario.targets), *growth_missed(*sizes)]
    return Finished(f"{line.text('bindings')} {words} {carries}", tuple(missed))


async def _bench(
    where: Setting, listing: Path, n: int, asked: Any, say: Say
) -> tuple[Line, dict[str, Any], tuple[Size, Size], str, Drawn]:
    runs: list[Run] = []
    began = time.monotonic()
    await floor(where, min(n, 50))
    while len(runs) < asked.pairs and (
        not runs or (time.monotonic() - began) * (1 + 1 / len(runs)) < 60 * asked.minutes
    ):
        runs.append(await pair(where, listing, n))
        say(f"  pair {len(runs)}: {runs[-1].ratio:.2f} x; {runs[-1]}")
    say(f"{n} of which {UNREACHABLE} can't be reached, against the others alone")
    alone, beside, among = await unreachable(where, listing, n, say)
    say("thousands")
    half, whole = await sized(where, listing, MANY // 2, say), await sized(where, listing, MANY, say)
    say("rest")
    idle = await rest(where, listing, n, say)
    say(f"time against the floor: {spread([run.ratio for run in runs])}")
    line = line_of(n, runs, idle)
    deletion = max(run.deletion_requests for run in runs)
    words = (
        f"deletion_requests={deletion:.3f} deletion_s={median([run.deletion_seconds for run in runs]):.2f} "
        f"reachable_s_alone={spread(alone)} reachable_s_beside={spread(beside)} reachable_s_among={spread(among)} "
        f"n5000_s={whole.seconds:.1f} n5000_vs_floor={whole.seconds / whole.floor:.2f} n5000_mb={whole.memory_mb:.0f} "
        f"growth_2x={whole.seconds / half.seconds:.2f} floor_growth_2x={whole.floor / half.floor:.2f} "
        f"cpu_growth_2x={whole.cpu / half.cpu:.2f} mb_growth_2x={whole.memory_mb / half.memory_mb:.2f}"
    )
    details = {"result": asdict(line), "pairs": [asdict(run) for run in runs], "sizes": [asdict(half), asdict(whole)]}
    shown = Drawn(
        ratios=[run.ratio for run in runs],
        target=where.scenario.targets.time_vs_floor,
        ms_until_done=[took for run in runs for took in run.took_ms],
        sizes=[
            (n, median([1000 * run.seconds / n for run in runs])),
            *((one.n, 1000 * one.seconds / one.n) for one in (half, whole)),
        ],
    )
    return line, {**details, "alone": alone, "beside": beside, "among": among}, (half, whole), words, shown


def growth_missed(half: Size, whole: Size) -> list[str]:
    """The bars of linear growth: CPU, and time against the growth of the floor, which is the API server's own."""
    grown = {"cpu_growth_2x": whole.cpu / half.cpu, "growth_2x": whole.seconds / half.seconds}
    floor = whole.floor / half.floor
    return above(grown, {"cpu_growth_2x": MOST_GROWTH, "growth_2x": floor * AS_THE_FLOOR})


@asynccontextmanager
async def installed(where: Setting, listing: Path) -> AsyncIterator[OperatorProcess]:
    """An operator that has registered, and has nothing to do; afterwards nothing is left."""
    bind(listing, {})
    spec = {"binding": {"endpointSelectors": ["true"]}, "drain": {"policy": "Delete"}}
    head = {"apiVersion": KubernetesOperator.RESOURCE.api_version, "kind": "KubernetesOperator"}
    path = KubernetesOperator.RESOURCE.path(where.namespace)
    await where.bare.write(Write("POST", path, {**head, "metadata": {"name": "seamark"}, "spec": spec}))
    async with where.operator() as running:
        await running.quiet(least=1.0)
        yield running
        await where.bare.delete_all(KubernetesOperator.RESOURCE, where.namespace)
        await until_none(where, KubernetesOperator)


def bind(listing: Path, wanted: dict[str, str]) -> None:
    part = listing.with_suffix(".part")
    part.write_text(json.dumps(list(wanted.values())))
    part.rename(listing)


async def until_none(where: Setting, kind: Any, seconds: float = 300) -> float:
    deadline = time.monotonic() + seconds
    while await where.bare.all(kind, where.namespace):
        if time.monotonic() > deadline:
            raise SeamarkError(f"{kind.RESOURCE.plural} did not go within {seconds:.0f} s")
        await asyncio.sleep(0.05)
    return time.monotonic()


async def floor(where: Setting, n: int) -> float:
    """The same writes by the bare client, object by object."""
    wanted = list(urls(n))
    seconds = await least(where, wanted, PATIENCE)
    await unmark(where, wanted)
    for namespace, kind in ((where.namespace, BoundEndpoint), (where.namespace, Service), ("users", Service)):
        await where.bare.delete_all(kind.RESOURCE, namespace)
    return seconds


async def pair(where: Setting, listing: Path, n: int) -> Run:
    least = await floor(where, n)
    wanted = urls(n)
    async with installed(where, listing) as running:
        empty = await running.report()
        async with watching(where.bare, where.scenario, where.namespace, list(wanted)) as watcher:
            before, mark, began = await running.reset(), where.mark(), time.monotonic()
            bind(listing, wanted)
            seconds = await watcher.until(n, PATIENCE * n + 60) - began
        after = await running.quiet()
        made = asked_for(where, mark)
        mark, began = where.mark(), time.monotonic()
        bind(listing, {})
        deleted = await until_none(where, BoundEndpoint) - began
        await running.quiet()
        gone = asked_for(where, mark)
    return Run(
        floor=least,
        seconds=seconds,
        requests=made / n,
        deletion_seconds=deleted,
        deletion_requests=gone / n,
        cpu=after.cpu - before.cpu,
        memory_mb=after.memory_mb - empty.memory_mb,
        lag_p99_ms=after.lag_p99_ms,
        took_ms=watcher.took_ms,
    )


def asked_for(where: Setting, mark: int) -> int:
    """Requests since a mark, without the looks at the one Secret, which come with time and not with objects."""
    found = where.requests(mark)
    return found.counted - found.reads["get secrets"]


async def unreachable(where: Setting, listing: Path, n: int, say: Say) -> tuple[list[float], list[float], list[float]]:
    """Seconds until the same objects are Ready: alone, beside others that never answer, among as many that do.

    Three of each. The API server's time is shared with the others in the last two; only waiting would differ.
    """
    good = n - UNREACHABLE
    alone: list[float] = []
    beside: list[float] = []
    among: list[float] = []
    for _ in range(3):
        for wanted, times in ((urls(good), alone), (urls(n, UNREACHABLE), beside), (urls(n), among)):
            async with installed(where, listing) as running:
                async with watching(where.bare, where.scenario, where.namespace, list(urls(good))) as watcher:
                    began = time.monotonic()
                    bind(listing, wanted)
                    times.append(await watcher.until(good, PATIENCE * n + 60) - began)
                bind(listing, {})
                await until_none(where, BoundEndpoint)
                await running.quiet()
    say(f"  alone {spread(alone)} s, beside {UNREACHABLE} others {spread(beside)} s, among {n} {spread(among)} s")
    return alone, beside, among


async def sized(where: Setting, listing: Path, n: int, say: Say) -> Size:
    least = await floor(where, n)
    async with installed(where, listing) as running:
        empty = await running.reset()
        wanted = urls(n)
        async with watching(where.bare, where.scenario, where.namespace, list(wanted)) as watcher:
            began = time.monotonic()
            bind(listing, wanted)
            seconds = await watcher.until(n, PATIENCE * n) - began
        full = await running.quiet()
        size = Size(n, least, seconds, full.cpu - empty.cpu, full.memory_mb - empty.memory_mb)
        say(f"  {size}")
        bind(listing, {})
        await until_none(where, BoundEndpoint, 900)
        await running.quiet()
    return size


async def rest(where: Setting, listing: Path, n: int, say: Say) -> int:
    async with installed(where, listing) as running:
        async with watching(where.bare, where.scenario, where.namespace, list(urls(n))) as watcher:
            bind(listing, urls(n))
            await watcher.until(n, PATIENCE * n + 60)
        await running.quiet(least=2.0)
        mark, seconds = where.mark(), 2 * where.scenario.at_rest
        await running.remain(seconds)
        found = where.requests(mark)
        say(f"  {seconds:g} s; {found}")
        bind(listing, {})
        await until_none(where, BoundEndpoint)
    return found.writes.total()
