"""The benchmark of FAMILY=gateway: routes come together, then their gateway goes; each against the same bare writes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import yaml

from seamark.families.gateway.model.names import CLASS_NAME, CONTROLLER_NAME
from seamark.gatewayapi.bundle import definitions
from seamark_runtime.api.gateway import Gateway, GatewayClass, HTTPRoute
from seamark_runtime.errors import SeamarkError
from tests.bench.bare import each, make_all
from tests.bench.families.floors import least
from tests.bench.families.gateway_routes import GatewayScenario
from tests.bench.process import OperatorProcess
from tests.bench.report import Drawn, Finished, Line, save
from tests.bench.scenario import Sort, Write
from tests.bench.setting import Setting, names, setting
from tests.bench.spread import median, spread
from tests.bench.watcher import watching

PATIENCE = 0.5
GATEWAY = "gateway"
JSON_PATCH = "application/json-patch+json"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    """`floor` and `clear_floor`: the same writes by the bare client."""

    floor: float
    seconds: float
    clear_floor: float
    clear_seconds: float
    cpu: float
    clear_cpu: float
    route_writes: float
    gateway_writes: int
    memory_mb: float
    lag_p99_ms: float
    took_ms: list[float] = field(default_factory=list, repr=False)


async def bench(asked: Any, say: Say) -> Finished:
    async with setting("gateway") as where:
        await prepare(where)
        return await _bench(where, asked, say)


async def prepare(where: Setting) -> None:
    """The Gateway API's own kinds, a class, and a Service to send requests to."""
    found = definitions()
    await asyncio.to_thread(where.plane.kubectl, "apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(found))
    await asyncio.to_thread(where.plane.kubectl, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    its_class = {"metadata": {"name": CLASS_NAME}, "spec": {"controllerName": CONTROLLER_NAME}}
    await where.bare.write(Write("POST", GatewayClass.RESOURCE.path(), {**kind(GatewayClass), **its_class}))
    service = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    await where.bare.write(Write("POST", f"/api/v1/namespaces/{where.namespace}/services", service))


def kind(of: type[Any]) -> dict[str, str]:
    return {"apiVersion": of.RESOURCE.api_version, "kind": of.RESOURCE.kind}


async def make_gateway(where: Setting) -> None:
    spec = {"gatewayClassName": CLASS_NAME, "listeners": [{"name": "http", "port": 8080, "protocol": "HTTP"}]}
    body = {**kind(Gateway), "metadata": {"name": GATEWAY}, "spec": spec}
    await where.bare.write(Write("POST", Gateway.RESOURCE.path(where.namespace), body))


async def _bench(where: Setting, asked: Any, say: Say) -> Finished:
    runs: list[Run] = []
    began = time.monotonic()
    while len(runs) < asked.pairs and (
        not runs or (time.monotonic() - began) * (1 + 1 / len(runs)) < 60 * asked.minutes
    ):
        runs.append(await pair(where, asked.n))
        one = runs[-1]
        times, clearing = one.seconds / one.floor, one.clear_seconds / one.clear_floor
        say(f"  pair {len(runs)}: {times:.2f} x, cleared {clearing:.2f} x; {one}")
    idle = await rest(where, asked.n)
    ratios = [run.seconds / run.floor for run in runs]
    cleared = [run.clear_seconds / run.clear_floor for run in runs]
    say(f"time against the floor: {spread(ratios)}; clearing: {spread(cleared)}")
    line = Line(
        n=asked.n,
        requests_per_object=max(run.route_writes for run in runs),
        time_vs_floor=median(ratios),
        cpu_ms_per_object=median([1000 * run.cpu / asked.n for run in runs]),
        rss_mb_per_1000=median([run.memory_mb * 1000 / asked.n for run in runs]),
        idle_writes=idle,
        loop_lag_p99_ms=median([run.lag_p99_ms for run in runs]),
    )
    details = {"result": asdict(line), "pairs": [asdict(run) for run in runs]}
    shown = Drawn(
        ratios=ratios,
        target=where.scenario.targets.time_vs_floor,
        ms_until_done=[took for run in runs for took in run.took_ms],
        sizes=[(asked.n, median([1000 * run.seconds / asked.n for run in runs]))],
    )
    say(f"details are in {save('gateway', 'standard', details, drawn=shown)}")
    text = (
        f"{line.text('gateway')} route_writes={max(run.route_writes for run in runs):.3f} "
        f"gateway_writes={max(run.gateway_writes for run in runs)} clear_vs_floor={median(cleared):.2f} "
        f"clear_cpu_s={median([run.clear_cpu for run in runs]):.2f}"
    )
    return Finished(text, tuple(line.missed(where.scenario.targets)))


async def pair(where: Setting, n: int) -> Run:
    floor, clear_floor = await floors(where, n)
    async with where.operator() as running:
        await make_gateway(where)
        empty = await running.quiet(least=1.0)
        async with watching(where.bare, where.scenario, where.namespace, names(n)) as watcher:
            before, mark, began = await running.reset(), where.mark(), time.monotonic()
            await make_all(where.bare, where.scenario, where.namespace, names(n), Sort.PLAIN)
            ended = await watcher.until(n, PATIENCE * n)
        after = await running.quiet(least=5.0)
        writes = where.requests(mark).writes
        routes = sum(count for what, count in writes.items() if "httproutes" in str(what))
        gateways = sum(count for what, count in writes.items() if "gateways" in str(what))
        cleared, clear_cpu = await clear(where, running, n)
        await where.clear()
        await running.quiet()
    return Run(
        floor=floor,
        seconds=ended - began,
        clear_floor=clear_floor,
        clear_seconds=cleared,
        cpu=after.cpu - before.cpu,
        clear_cpu=clear_cpu,
        route_writes=routes / n,
        gateway_writes=gateways,
        memory_mb=after.memory_mb - empty.memory_mb,
        lag_p99_ms=after.lag_p99_ms,
        took_ms=watcher.took_ms,
    )


async def floors(where: Setting, n: int) -> tuple[float, float]:
    seconds = await least(where, names(n), PATIENCE)
    began = time.monotonic()

    async def empty(name: str) -> None:
        path = HTTPRoute.RESOURCE.path(where.namespace, name, "status")
        await where.bare.write(Write("PATCH", path, [{"op": "remove", "path": "/status/parents/0"}], JSON_PATCH))

    await each(names(n), empty)
    clearing = time.monotonic() - began
    await where.clear()
    return seconds, clearing


async def clear(where: Setting, running: OperatorProcess, n: int) -> tuple[float, float]:
    """The gateway goes: how long until no route has an entry of ours."""
    async with watching(where.bare, Cleared(), where.namespace, names(n)) as watcher:
        before, began = await running.reset(), time.monotonic()
        path = where.bare.url(Gateway.RESOURCE.path(where.namespace, GATEWAY))
        async with where.bare.session.delete(path) as response:
            if response.status >= 300:
                raise SeamarkError(await response.text())
        seconds = await watcher.until(n, PATIENCE * n) - began
    after = await running.quiet()
    return seconds, after.cpu - before.cpu


class Cleared(GatewayScenario):
    """A route is done when nothing of ours is in its status any more."""

    def done(self, obj: HTTPRoute) -> bool:
        return obj.status is not None and not obj.status.parents


async def rest(where: Setting, n: int) -> int:
    async with where.operator() as running:
        await make_gateway(where)
        await make_all(where.bare, where.scenario, where.namespace, names(min(n, 200)), Sort.PLAIN)
        await running.quiet(least=6.0)
        mark = where.mark()
        await running.remain(2 * where.scenario.at_rest)
        return where.requests(mark).writes.total()
