"""What is measured once and not against a floor: a restart over many healthy objects, and an API server that dies."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from seamark_runtime.errors import SeamarkError
from tests.bench.bare import make_all, make_through_an_outage
from tests.bench.counting import Requests
from tests.bench.scenario import Sort
from tests.bench.setting import Setting, names
from tests.bench.standard import PATIENCE
from tests.bench.subject import Report
from tests.bench.watcher import Watcher, watching

Say = Callable[[str], None]


@dataclass(frozen=True)
class Restart:
    """`seconds` from the start of the process to the moment after which it had nothing to do any more."""

    n: int
    seconds: float
    requests: Requests
    report: Report

    def text(self, family: str) -> str:
        return (
            f"{family} restart: n={self.n} seconds={self.seconds:.2f} writes={self.requests.writes.total()} "
            f"rss_mb={self.report.memory_mb:.1f} peak_mb={self.report.peak_mb:.1f} cpu_s={self.report.cpu:.2f} "
            f"loop_lag_p99_ms={self.report.lag_p99_ms:.1f} loop_lag_max_ms={self.report.lag_max_ms:.1f}"
        )


async def restart(setting: Setting, n: int, say: Say) -> Restart:
    say(f"{n} objects are made, and worked on")
    async with setting.operator() as running:
        async with watching(setting.bare, setting.scenario, setting.namespace, names(n)) as watcher:
            await make_all(setting.bare, setting.scenario, setting.namespace, names(n), Sort.PLAIN)
            await watcher.until(n, PATIENCE * n)
        await running.quiet()
    say("the operator starts again")
    mark, meter = setting.mark(), setting.meter()
    async with setting.operator() as running:
        report = await running.quiet(least=2 * setting.scenario.at_rest)
        requests = setting.requests(mark)
        if report.quiet_since is None:
            raise SeamarkError("the operator is quiet and not quiet")  # `quiet` has just waited for it
        seconds = report.quiet_since - running.started
    say(f"  {requests}; {meter.read().disturbance}; held by own work at most {report.held_max_ms:.1f} ms")
    return Restart(n, seconds, requests, report)


@dataclass(frozen=True)
class Kill:
    """`seconds` from the death of the API server to the last status; for `down` of them nothing could be asked."""

    n: int
    done_before: int
    down: float
    seconds: float
    restarts: int
    duplicates: int
    missing: int
    requests: Requests

    def text(self, family: str) -> str:
        return (
            f"{family} kill: n={self.n} done_before={self.done_before} converged={self.n - self.missing} "
            f"down_s={self.down:.2f} seconds={self.seconds:.2f} operator_restarts={self.restarts} "
            f"duplicate_children={self.duplicates} requests_per_object={self.requests.counted / self.n:.3f}"
        )


async def kill(setting: Setting, n: int, say: Say) -> Kill:
    """SIGKILL to kube-apiserver when a third of the objects are done, and a new start on the same data."""
    async with setting.operator() as running:
        await running.quiet()
        pid, mark = running.pid, setting.mark()
        async with watching(setting.bare, setting.scenario, setting.namespace, names(n)) as watcher:
            making = asyncio.create_task(
                make_through_an_outage(setting.bare, setting.scenario, setting.namespace, names(n))
            )
            done_before, began, down = await _outage(setting, watcher, n)
            say(f"the API server was killed when {done_before} of {n} were done, and is back after {down:.2f} s")
            await making
            ended = await watcher.until(n, PATIENCE * n + 60)
        await running.quiet()
        restarts = 0 if running.alive and running.pid == pid else 1
        requests = setting.requests(mark)
        for line in sorted(set(running.words()))[:5]:
            say(f"  the operator said: {line}")
    say(f"  {requests}")
    duplicates, missing = await _children(setting, n)
    return Kill(n, done_before, down, ended - began, restarts, duplicates, missing, requests)


async def _outage(setting: Setting, watcher: Watcher, n: int) -> tuple[int, float, float]:
    """How many were done at its beginning, when that was, and how long it took."""
    server = setting.plane.api_server
    await watcher.until(max(1, n // 3), PATIENCE * n)
    done, began = len(watcher.done), time.monotonic()
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    await asyncio.to_thread(setting.plane.wait_ready)
    return done, began, time.monotonic() - began


async def _children(setting: Setting, n: int) -> tuple[int, int]:
    """Children too many, and too few: each object has exactly one of each kind."""
    scenario, bare, namespace = setting.scenario, setting.bare, setting.namespace
    uids = [obj.uid for obj in await bare.all(scenario.watched, namespace)]
    duplicates, missing = 0, n - len(uids)
    for kind in scenario.children:
        of = Counter(owner for child in await bare.all(kind, namespace) for owner in scenario.owners(child))
        duplicates += sum(max(0, of[uid] - 1) for uid in uids)
        missing += sum(of[uid] == 0 for uid in uids)
    return duplicates, missing
