"""The benchmark of FAMILY=dns: its floor is the same writes plus the bare UPDATEs of the same records.

Its objects have finalizers, and what happens on the name server counts too, so it has a course of its own:
pairs of floor and operator; then a change among a thousand and among ten thousand records; then rest.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from seamark.api.dns import DNSEndpoint
from seamark.providers.dns.isolate import Outcome, apply_each
from seamark.providers.dns.link import Server
from seamark.providers.dns.model import Change, Part, Record
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from seamark_runtime.client import MERGE_PATCH
from seamark_runtime.errors import SeamarkError
from tests.bench.bare import Bare, each, make_all
from tests.bench.families.floors import marked
from tests.bench.process import OperatorProcess
from tests.bench.report import Drawn, Finished, line_of, save
from tests.bench.scenario import Sort, Write
from tests.bench.setting import Setting, names, setting
from tests.bench.spread import median, spread
from tests.bench.watcher import watching
from tests.dns.servers import ADDRESS, KEY, ZONE, Bind

AMONG = (1_000, 10_000)  # records, of which one changes: it must cost the same
CHANGES = 5  # of which the median counts
PER_OBJECT = 100
PATIENCE = 0.5
FULL = re.compile(r"AXFR(-style IXFR)? started")
INCREMENTAL = re.compile(r"': IXFR started")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    """`floor`: the API writes, `updates`: the bare UPDATEs; `seconds`: what the operator took for both."""

    floor: float
    updates: float
    seconds: float
    cpu: float
    requests: float
    memory_mb: float
    lag_p99_ms: float
    held_max_ms: float  # the longest that a piece of work held the loop, by its own processor time
    ready: int
    refused: int
    took_ms: list[float] = field(default_factory=list, repr=False)

    @property
    def ratio(self) -> float:
        return self.seconds / (self.floor + self.updates)


@dataclass(frozen=True)
class OneChange:
    """What one change among many records costs: the median of several. `cpu_ms` is without what rest costs anyway."""

    seconds: float
    api_requests: int
    update_messages: int
    cpu_ms: float
    full_transfers: int
    incremental_transfers: int


async def bench(asked: Any, say: Say) -> Finished:
    directory = Path(tempfile.mkdtemp(prefix="seamark-bench-dns-"))
    server = Bind(directory / "bind")
    os.environ["SEAMARK_BENCH_DNS_PORT"] = str(server.port)
    try:
        async with setting("dns") as where:
            return await _bench(where, server, asked, say)
    finally:
        server.close()


async def _bench(where: Setting, server: Bind, asked: Any, say: Say) -> Finished:
    n = asked.n
    runs: list[Run] = []
    began = time.monotonic()
    while len(runs) < asked.pairs and (
        not runs or (time.monotonic() - began) * (1 + 1 / len(runs)) < 60 * asked.minutes
    ):
        runs.append(await pair(where, server, n))
        say(f"  pair {len(runs)}: {runs[-1].ratio:.2f} x; {runs[-1]}")
    say("a change among many, and rest")
    few, _, _ = await among_many(where, server, AMONG[0], rest=False)
    say(f"  among {AMONG[0]}: {few}")
    change, idle_writes, idle_transfers = await among_many(where, server, AMONG[1], rest=True)
    say(f"  among {AMONG[1]}: {change}")
    say(f"time against the floor: {spread([run.ratio for run in runs])}")
    line = line_of(n, runs, idle_writes)
    say(f"no piece of work held the loop longer than {max(run.held_max_ms for run in runs):.0f} ms of its own time")
    changes = {str(AMONG[0]): asdict(few), str(AMONG[1]): asdict(change)}
    details = {"result": asdict(line), "pairs": [asdict(run) for run in runs], "change": changes}
    shown = Drawn(
        ratios=[run.ratio for run in runs],
        target=where.scenario.targets.time_vs_floor,
        ms_until_done=[took for run in runs for took in run.took_ms],
        sizes=[(n, median([1000 * run.seconds / n for run in runs]))],
        changes=[(AMONG[0], few.cpu_ms), (AMONG[1], change.cpu_ms)],
    )
    say(f"details are in {save('dns', 'standard', details, drawn=shown)}")
    text = (
        f"{line.text('dns')} ready={min(run.ready for run in runs)} refused={max(run.refused for run in runs)} "
        f"change_requests={change.api_requests} change_updates={change.update_messages} "
        f"change_cpu_ms={few.cpu_ms:.1f}/{change.cpu_ms:.1f} change_full_transfers={change.full_transfers} "
        f"idle_transfers={idle_transfers} held_max_ms={max(run.held_max_ms for run in runs):.0f}"
    )
    return Finished(text, tuple(line.missed(where.scenario.targets)))


async def pair(where: Setting, server: Bind, n: int) -> Run:
    floor = await marked(where, n, PATIENCE)
    updates = await update_floor(server, n)
    async with where.operator() as running:
        empty = await running.quiet()
        async with watching(where.bare, where.scenario, where.namespace, names(n)) as watcher:
            before, mark, began = await running.reset(), where.mark(), time.monotonic()
            await make_all(where.bare, where.scenario, where.namespace, names(n), Sort.PLAIN)
            ended = await watcher.until(n, PATIENCE * n)
        after = await running.quiet()
        requests = where.requests(mark).counted / n
        ready, refused = await judged(where.bare, where.namespace)
        resolvable = sum(1 for name in names(n) if server.dig(f"{name}.{ZONE}", "A"))
        if resolvable < ready:
            raise SeamarkError(f"{ready} are Ready, but only {resolvable} can be resolved")
        await remove_all(where, running)
    return Run(
        floor=floor,
        updates=updates,
        seconds=ended - began,
        cpu=after.cpu - before.cpu,
        requests=requests,
        memory_mb=after.memory_mb - empty.memory_mb,
        lag_p99_ms=after.lag_p99_ms,
        held_max_ms=after.held_max_ms,
        ready=ready,
        refused=refused,
        took_ms=watcher.took_ms,
    )


async def update_floor(server: Bind, n: int) -> float:
    """The same records and their ownership, made by nothing but UPDATEs; they are removed again."""
    provider = Rfc2136Provider(Server(ADDRESS, server.port, KEY), (ZONE,))
    wanted = [Record(f"{name}.{ZONE}", "A", ("192.0.2.1",), 300) for name in names(n)[1:]]
    value = "heritage=external-dns,external-dns/owner=bench,external-dns/resource=crd/bench/"
    owners = [Record(f"a-{one.name}", "TXT", (value + one.name,), 300) for one in wanted]
    pairs = list(zip(wanted, owners, strict=True))
    made = [Change(one.slot, (Part(None, one), Part(None, owner))) for one, owner in pairs]
    began = time.monotonic()
    await apply_each(provider, ZONE, made, Outcome())
    seconds = time.monotonic() - began
    gone = [Change(one.slot, (Part(one, None), Part(owner, None))) for one, owner in pairs]
    await apply_each(provider, ZONE, gone, Outcome())
    return seconds


async def judged(bare: Bare, namespace: str) -> tuple[int, int]:
    """How many say Ready=True, and how many that the server has refused them."""
    said = [
        condition
        for obj in await bare.all(DNSEndpoint, namespace)
        for condition in (obj.status.conditions if obj.status else ())
        if condition.type == "Ready"
    ]
    ready = sum(condition.status == "True" for condition in said)
    return ready, sum(condition.status == "False" and "REFUSED" in condition.message for condition in said)


async def remove_all(where: Setting, running: OperatorProcess) -> None:
    await where.clear()
    deadline = time.monotonic() + 120
    while await where.bare.all(DNSEndpoint, where.namespace):
        if time.monotonic() > deadline:
            raise SeamarkError("the objects did not go within 120 s")
        await asyncio.sleep(0.2)
    await running.quiet()


def many(namespace: str, name: str, count: int) -> Write:
    """One object with many records: what a change is made among."""
    endpoints = [
        {"dnsName": f"{name}-{number}.{ZONE}", "recordType": "A", "targets": ["192.0.2.1"]} for number in range(count)
    ]
    body = {
        "apiVersion": DNSEndpoint.RESOURCE.api_version,
        "kind": "DNSEndpoint",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"endpoints": endpoints},
    }
    return Write("POST", DNSEndpoint.RESOURCE.path(namespace), body)


async def among_many(where: Setting, server: Bind, among: int, *, rest: bool) -> tuple[OneChange, int, int]:
    objects = [f"many-{number:04}" for number in range(among // PER_OBJECT)]
    idle = idle_transfers = 0

    async def make(name: str) -> None:
        await where.bare.write(many(where.namespace, name, 1 if name == "one" else PER_OBJECT))

    async with where.operator() as running:
        async with watching(where.bare, where.scenario, where.namespace, ["one", *objects]) as watcher:
            await each(["one", *objects], make)
            await watcher.until(len(objects) + 1, 300)
        await running.quiet(least=3.0)
        changes = [await one_change(where, server, running, f"192.0.2.{10 + number}") for number in range(CHANGES)]
        if rest:
            mark, transfers = where.mark(), len(FULL.findall(_log(server)))
            await running.remain(2 * where.scenario.at_rest)
            idle = where.requests(mark).writes.total()
            idle_transfers = len(FULL.findall(_log(server))) - transfers
        await remove_all(where, running)
    return sorted(changes, key=lambda change: change.cpu_ms)[CHANGES // 2], idle, idle_transfers


async def one_change(where: Setting, server: Bind, running: OperatorProcess, address: str) -> OneChange:
    resting = await running.reset()
    rested = time.monotonic()
    await running.remain(1.0)
    before = await running.reset()
    idle_cpu = (before.cpu - resting.cpu) / (time.monotonic() - rested)
    log, serial = _log(server), _serial(server)
    path = DNSEndpoint.RESOURCE.path(where.namespace, "one")
    spec = (await _endpoint(where.bare, path))["spec"]
    spec["endpoints"][0]["targets"] = [address]
    mark, began = where.mark(), time.monotonic()
    changed = await where.bare.write(Write("PATCH", path, {"spec": spec}, MERGE_PATCH))
    while not await _ready(where.bare, path, changed.generation):
        await asyncio.sleep(0.02)
    seconds = time.monotonic() - began
    after = await running.quiet(least=0.5)
    since = _log(server)[len(log) :]
    return OneChange(
        seconds=seconds,
        api_requests=where.requests(mark).counted,
        update_messages=_serial(server) - serial,
        cpu_ms=1000 * (after.cpu - before.cpu - idle_cpu * (time.monotonic() - began)),
        full_transfers=len(FULL.findall(since)),
        incremental_transfers=len(INCREMENTAL.findall(since)),
    )


async def _endpoint(bare: Bare, path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await bare.get(path))
    return found


async def _ready(bare: Bare, path: str, generation: int) -> bool:
    conditions = (await _endpoint(bare, path)).get("status", {}).get("conditions", [])
    return any(
        one["type"] == "Ready" and one["status"] == "True" and one.get("observedGeneration") == generation
        for one in conditions
    )


def _serial(server: Bind) -> int:
    return int(server.dig(ZONE, "SOA")[0].split()[2])


def _log(server: Bind) -> str:
    return (server.directory / "named.log").read_text(errors="replace")
