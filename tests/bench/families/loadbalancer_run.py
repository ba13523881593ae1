"""The benchmark of FAMILY=loadbalancer: its floor is the same writes, and the bare reservations at the same edge.

What happens at the edge counts too, so it has a course of its own: pairs of floor and operator with TCP Services, each
held by a real agent; TLS Services with custom domains; many at once; rest.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from seamark.api.ngrokingress import Domain
from seamark.providers.edge.seamark import seamark_edge
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_edge.model import Owner
from seamark_runtime.api.core import Service
from seamark_runtime.errors import SeamarkError
from tests.bench.bare import each, make_all
from tests.bench.families.floors import marked
from tests.bench.process import OperatorProcess
from tests.bench.report import Drawn, Finished, above, line_of, save
from tests.bench.scenario import Sort
from tests.bench.setting import HARNESS, Setting, names, setting
from tests.bench.spread import median, spread
from tests.bench.watcher import watching
from tests.edge.running import RunningEdge

TLS = 50
MANY = 2000
PORTS = "10000-14999"
PATIENCE = 1.0
MOST = {"edge_calls": 1.1, "tls_requests": 12, "tls_edge_calls": 4, "tls_wrong_first": 0, "idle_edge_calls": 0}
CALLS = re.compile(r'seamark_edge_api_requests_total\{method="(\w+)",resource="(\w+)",status="\d+"\} ([0-9.]+)')
POLLS = (("GET", "endpoints"), ("GET", "tunnel_sessions"))
AGENT = "from seamark.cli.agent import app; app()"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Calls:
    """Requests to the edge's API: the poll of what agents hold, and all others."""

    own: int
    polls: int


@dataclass(frozen=True)
class Run:
    """`floor`: the API writes and the bare reservations; `seconds`: what the operator took until all had addresses."""

    n: int
    floor: float
    seconds: float
    cpu: float
    requests: float
    edge_calls: float
    polls: int
    memory_mb: float
    lag_p99_ms: float
    took_ms: list[float] = field(default_factory=list, repr=False)

    @property
    def ratio(self) -> float:
        return self.seconds / self.floor if self.floor else 0.0


async def bench(asked: Any, say: Say) -> Finished:
    with tempfile.TemporaryDirectory(prefix="seamark-bench-lb-") as folder:
        edge = RunningEdge(
            Path(folder) / "edge", tcp_ports=PORTS, requests_per_minute=120_000, lease_seconds=0, log_level="warning"
        )
        os.environ |= {"SEAMARK_BENCH_EDGE_API": edge.api_url, "SEAMARK_BENCH_EDGE_KEY": edge.api_key}
        try:
            async with setting("loadbalancer") as where, agent(where, edge):
                return await _bench(where, edge, asked, say)
        finally:
            edge.close()


@asynccontextmanager
async def agent(where: Setting, edge: RunningEdge) -> AsyncIterator[None]:
    """One replica that holds what the cluster says, in the floor's runs and in the operator's."""
    kubeconfig = str(where.plane.kubeconfig_of(HARNESS))
    arguments = ["--server", edge.address, "--ca", edge.ca, "--cluster", "--kubeconfig", kubeconfig]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        AGENT,
        *arguments,
        "--log-level",
        "error",
        env={**os.environ, "SEAMARK_AGENT_TOKEN": edge.token},
        stdout=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def _bench(where: Setting, edge: RunningEdge, asked: Any, say: Say) -> Finished:
    n = min(asked.n, MANY) if asked.n != 1000 else 200
    runs: list[Run] = []
    began = time.monotonic()
    while len(runs) < asked.pairs and (
        not runs or (time.monotonic() - began) * (1 + 1 / len(runs)) < 60 * asked.minutes
    ):
        floor = await marked(where, n, PATIENCE) + await edge_floor(edge, n)
        runs.append(await operated(where, edge, names(n), floor))
        say(f"  pair {len(runs)}: {runs[-1].ratio:.2f} x; {runs[-1]}")
    say(f"time against the floor: {spread([run.ratio for run in runs])}")
    tls, wrong = await with_domains(where, edge, say)
    many = await operated(where, edge, names(MANY), 0.0)
    say(f"  {MANY} services: {many}")
    idle_writes, idle_calls = await rest(where, edge)
    per_object = median([run.seconds / run.n for run in runs])
    line = replace(line_of(n, runs, idle_writes), rss_mb_per_1000=many.memory_mb * 1000 / MANY)
    details = {"result": asdict(line), "pairs": [asdict(run) for run in runs], "tls": asdict(tls), "many": asdict(many)}
    shown = Drawn(
        ratios=[run.ratio for run in runs],
        target=where.scenario.targets.time_vs_floor,
        ms_until_done=[took for run in runs for took in run.took_ms],
        sizes=[(n, 1000 * per_object), (MANY, 1000 * many.seconds / MANY)],
    )
    say(f"details are in {save('loadbalancer', 'standard', details, drawn=shown)}")
    text = (
        f"{line.text('loadbalancer')} edge_calls={max(run.edge_calls for run in runs):.2f} "
        f"tls_requests={tls.requests:.2f} tls_edge_calls={tls.edge_calls:.2f} tls_wrong_first={wrong} "
        f"many={MANY} many_requests={many.requests:.2f} many_edge_calls={many.edge_calls:.2f} "
        f"many_time_per_object_vs_small={many.seconds / MANY / per_object:.2f} idle_edge_calls={idle_calls}"
    )
    measured = {
        "edge_calls": max(run.edge_calls for run in runs),
        "tls_requests": tls.requests,
        "tls_edge_calls": tls.edge_calls,
        "tls_wrong_first": wrong,
        "idle_edge_calls": idle_calls,
    }
    return Finished(text, (*line.missed(where.scenario.targets), *above(measured, MOST)))


async def operated(where: Setting, edge: RunningEdge, wanted: Sequence[str], floor: float) -> Run:
    n = len(wanted)
    async with where.operator() as running:
        empty = await running.quiet()
        calls = edge_calls(edge)
        async with watching(where.bare, where.scenario, where.namespace, wanted) as watcher:
            before, mark, began = await running.reset(), where.mark(), time.monotonic()
            await make_all(where.bare, where.scenario, where.namespace, wanted, Sort.PLAIN)
            ended = await watcher.until(n, PATIENCE * n + 60)
        await all_held(where, n)
        after = await running.quiet(least=2.0)
        requests, asked = where.requests(mark), edge_calls(edge)
        await remove_all(where, edge, running)
    return Run(
        n=n,
        floor=floor,
        seconds=ended - began,
        cpu=after.cpu - before.cpu,
        requests=requests.counted / n,
        edge_calls=(asked.own - calls.own) / n,
        polls=asked.polls - calls.polls,
        memory_mb=after.memory_mb - empty.memory_mb,
        lag_p99_ms=after.lag_p99_ms,
        took_ms=watcher.took_ms,
    )


async def all_held(where: Setting, n: int) -> None:
    """The agent holds every endpoint, and every endpoint reports it."""
    deadline = time.monotonic() + PATIENCE * n + 60
    while True:
        found = await where.bare.all(AgentEndpoint, where.namespace)
        ready = sum(is_ready(one) for one in found)
        if ready == len(found) and len(found) >= n:
            return
        if time.monotonic() > deadline:
            raise SeamarkError(f"{ready} of {n} endpoints are ready: {next(o for o in found if not is_ready(o))}")
        await asyncio.sleep(0.2)


def is_ready(endpoint: Any) -> bool:
    conditions = endpoint.status.conditions if endpoint.status else ()
    return any(one.type == "Ready" and one.status == "True" for one in conditions)


async def with_domains(where: Setting, edge: RunningEdge, say: Say) -> tuple[Run, int]:
    """TLS Services with custom domains, verbose: and how many showed anything but their CNAME target first."""
    wanted = [f"tls-{name}" for name in names(TLS)]
    first: dict[str, str] = {}

    def note(obj: Service) -> bool:
        entries = (obj.status.load_balancer.ingress if obj.status else None) or ()
        if entries:
            first.setdefault(obj.metadata.name, entries[0].hostname)
        return bool(entries)

    where.scenario.done = note  # type: ignore[method-assign]  # for this part alone
    try:
        run = await operated(where, edge, wanted, 0.0)
    finally:
        del where.scenario.done
    wrong = sum(".cname." not in shown for shown in first.values())
    say(f"  {TLS} with custom domains: {run}; {wrong} showed something else first")
    return run, wrong


async def edge_floor(edge: RunningEdge, n: int) -> float:
    """The same addresses, reserved by nothing but the calls for it; they are released again."""
    provider = seamark_edge(edge.api_url, edge.api_key, requests_per_minute=1_000_000)
    owners = {name: Owner("floor", "bench", name, name) for name in names(n)}
    try:
        await provider.find_address("nobody:1")  # the one listing comes before
        began = time.monotonic()
        await each(names(n), lambda name: _reserve(provider, owners[name]))
        seconds = time.monotonic() - began
        await each(names(n), lambda name: provider.release_address(owners[name]))
    finally:
        await provider.close()
    return seconds


async def _reserve(provider: Any, owner: Owner) -> None:
    await provider.reserve_address(owner)


async def remove_all(where: Setting, edge: RunningEdge, running: OperatorProcess) -> None:
    await where.bare.delete_all(Service.RESOURCE, where.namespace)
    deadline = time.monotonic() + 300
    while [one for kind in (Service, AgentEndpoint, CloudEndpoint, Domain) for one in await left(where, kind)]:
        if time.monotonic() > deadline:
            raise SeamarkError("the objects did not go within 300 s")
        await asyncio.sleep(0.2)
    await running.quiet()
    reserved = [*edge.api("GET", "/reserved_addrs")[1]["reserved_addrs"]]
    reserved += edge.api("GET", "/reserved_domains")[1]["reserved_domains"]
    if reserved:
        raise SeamarkError(f"{len(reserved)} are left at the edge")


async def left(where: Setting, kind: Any) -> list[Any]:
    return await where.bare.all(kind, where.namespace)


async def rest(where: Setting, edge: RunningEdge) -> tuple[int, int]:
    """Writes, and calls to the edge beyond its poll and one listing of each kind, while nothing happens."""
    wanted = names(100)
    async with where.operator() as running:
        async with watching(where.bare, where.scenario, where.namespace, wanted) as watcher:
            await make_all(where.bare, where.scenario, where.namespace, wanted, Sort.PLAIN)
            await watcher.until(len(wanted), 120)
        await all_held(where, len(wanted))
        await running.quiet(least=3.0)
        mark, calls, seconds = where.mark(), edge_calls(edge), 2 * where.scenario.at_rest
        await running.remain(seconds)
        idle, asked = where.requests(mark).writes.total(), edge_calls(edge)
        await remove_all(where, edge, running)
    listings = 1 + int(seconds // where.scenario.at_rest)
    return idle, max(0, asked.own - calls.own - listings)


def edge_calls(edge: RunningEdge) -> Calls:
    """As the edge itself has counted them."""
    found = [(method, resource, int(float(count))) for method, resource, count in CALLS.findall(edge.get("/metrics"))]
    polls = sum(count for method, resource, count in found if (method, resource) in POLLS)
    return Calls(sum(count for _, _, count in found) - polls, polls)
