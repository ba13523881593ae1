"""make hostile ARGS=--edge: attacks on every port of a running edge, twice, beside an honest agent and its clients.

It fails if the process ends, an internal error is counted, the honest client is delayed or cut off, something of
another tenant is returned, a case is neither refused nor served, or the second run leaves more memory behind than
the first. `--fast` is a part of it, in less than a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from seamark_edge.wire.files import allow_many_files
from tests.edge.running import RunningEdge
from tests.edge.sdks import start_agent
from tests.edge.services import echo, service
from tests.hostile.edge import agents, callers, clients, excess, floods
from tests.hostile.edge.cases import Case, Outcome, Tally, played
from tests.hostile.edge.corpus import CANARY

STALL_MS, BLOCK_MS, GROWTH_MB = 250.0, 50.0, 20.0
SETTLE_SECONDS, FLOOD_SETTLE_SECONDS = 6.0, 1.0
FLOOD_MB = 100.0  # of memory during one flood
SILENCE_SECONDS = 60.0  # after which a session is given up whose frame was never completed


@dataclass(frozen=True)
class Options:
    fast: bool = False
    seed: int = 1

    @property
    def step(self) -> int:
        """One of so many cases is tried."""
        return 24 if self.fast else 1

    @property
    def crowd(self) -> int:
        return 1000 if self.fast else 10_000


@dataclass
class Report:
    tally: Tally = field(default_factory=Tally)
    stalled_ms: float = 0.0
    block_ms: float = 0.0
    growth_mb: float = 0.0
    noticed: list[str] = field(default_factory=list)  # floods that the honest client felt

    @property
    def failures(self) -> list[str]:
        told = [f"{outcome.value}: {words}" for outcome, several in self.tally.failures.items() for words in several]
        limits = (("stalled_ms", self.stalled_ms, STALL_MS), ("loop_block_ms", self.block_ms, BLOCK_MS))
        for name, value, most in (*limits, ("second_run_mb", self.growth_mb, GROWTH_MB)):
            if value > most:
                told.append(f"{name} is {value:.0f}, at most {most:.0f} are allowed")
        return told + self.noticed

    def line(self) -> str:
        tally = self.tally
        return (
            f"hostile-edge: ports={len(tally.ports)} cases={tally.cases} crashed={tally.number(Outcome.CRASHED)}"
            f" crossed={tally.number(Outcome.CROSSED)} silent={tally.number(Outcome.SILENT)}"
            f" stalled_ms={self.stalled_ms:.0f} loop_block_ms={self.block_ms:.0f} second_run_mb={self.growth_mb:.1f}"
        )


class Scene:
    """A running edge, an honest agent at it, and its client."""

    def __init__(self, edge: RunningEdge, canary: subprocess.Popen[str]) -> None:
        self.edge = edge
        self._canary = canary

    def period(self) -> dict[str, Any]:
        """What the honest client has met since it was last asked."""
        assert self._canary.stdin is not None
        assert self._canary.stdout is not None
        self._canary.stdin.write("\n")
        self._canary.stdin.flush()
        told: dict[str, Any] = json.loads(self._canary.stdout.readline())
        return told

    def metric(self, name: str) -> float:
        lines = self.edge.get("/metrics").splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    def memory(self) -> float:
        pages = int(Path(f"/proc/{self.edge.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def token(self) -> str:
        _, made = self.edge.api("POST", "/credentials", {"description": "a hostile agent's"})
        return str(made["token"])


@contextmanager
def scene() -> Iterator[Scene]:
    with ExitStack() as stack:
        state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hostile-edge-"))) / "state"
        edge = RunningEdge(
            state,
            head_seconds=2,
            request_seconds=4,
            idle_seconds=3,
            lease_seconds=1,
            requests_per_minute=1_000_000,
            unknown_requests_per_minute=1_000_000,
            agent_requests_per_minute=1_000_000,
            log_level="warning",
        )
        stack.callback(edge.close)
        honest = start_agent("seamark")
        stack.callback(honest.kill)
        honest.must("connect", **edge.connection())
        upstream = f"tcp://{stack.enter_context(service(echo))}"
        url = honest.must("forward", url="tcp://", upstream=upstream)["url"]
        honest.must("forward", url=f"https://{CANARY}", upstream=upstream)
        place, ops = url.partition("://")[2], str(edge.ports["ops_port"])
        command = [sys.executable, "-m", "tests.hostile.edge.canary", place, ops]
        pipe = subprocess.PIPE
        canary = stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        yield Scene(edge, canary)


def chosen(cases: Iterable[Case], step: int, random: Random) -> list[Case]:
    """One of `step` cases, in an order that mixes fields and values; all of them if it is 1."""
    found = list(cases)
    random.shuffle(found)
    return found[::step]


async def attack(scene: Scene, options: Options, tally: Tally) -> None:
    """One run of everything."""
    random, edge = Random(options.seed), scene.edge
    attackers = agents.Attackers(edge, scene.token())
    caller = callers.Callers(edge)
    try:
        await played(chosen(agents.message_cases(attackers), options.step, random), tally, 8)
        frames = agents.frame_cases(attackers, random, 5 if options.fast else 40)
        await played(chosen(frames, max(1, options.step // 6), random), tally, 64, SILENCE_SECONDS)
        await played(agents.excess_cases(attackers, 3 if options.fast else 25), tally, 1, 120.0)
        await played(excess.work_cases(attackers, caller, 1 if options.fast else 8), tally, 1, 120.0)
        await attackers.close()
        if attackers.clients:
            tally.note(Outcome.CROSSED, f"{attackers.clients} clients of others were sent to a hostile agent")
        await played(chosen(callers.cases(caller), options.step, random), tally, 8)
        anonymous = chosen(clients.cases(edge, random, 15), max(1, options.step // 6), random)
        await played(anonymous, tally, 48)
        for port in clients.ALL:
            await clients.crowd(edge, port, options.crowd // len(clients.ALL))
    finally:
        await attackers.close()
        await caller.close()


def flood(scene: Scene, options: Options, report: Report, baseline: float) -> None:
    """Each flood alone: a stall of a second in a run of minutes would be lost among the honest client's pings."""
    found = list(floods.cases(scene.edge, scene.token()))
    for case in found[:: 6 if options.fast else 1]:
        before = scene.memory()
        scene.period()
        asyncio.run(played([case], report.tally, 1))
        memory = scene.memory() - before
        time.sleep(FLOOD_SETTLE_SECONDS)  # what was stalled is answered, and counted in this period
        period = scene.period()
        stalled = max(0.0, period["p99_ms"] - baseline)
        report.stalled_ms = max(report.stalled_ms, stalled)
        for words in period["failures"]:
            report.tally.note(Outcome.CRASHED, f"the honest client, {case.name}: {words}")
        if stalled > STALL_MS:
            report.noticed.append(f"{case.port}: {case.name}: stalled_ms is {stalled:.0f}")
        if memory > FLOOD_MB:
            report.noticed.append(
                f"{case.port}: {case.name}: {memory:.0f} MB are held, at most {FLOOD_MB:.0f} are allowed"
            )


def run(options: Options) -> Report:
    report = Report()
    allow_many_files()
    if not options.fast:
        os.nice(5)  # what is measured is the edge's answer, not the share of the machine that the attackers leave
    with scene() as stage:
        time.sleep(2.0 if options.fast else 8.0)
        baseline = stage.period()
        flood(stage, options, report, baseline["p999_ms"])
        stage.period()
        memory: list[float] = []
        for _ in range(2):
            asyncio.run(attack(stage, options, report.tally))
            time.sleep(SETTLE_SECONDS if not options.fast else 3.0)
            memory.append(stage.memory())
            if stage.edge.process.poll() is not None:
                report.tally.note(Outcome.CRASHED, "the edge ended")
                return report
        period = stage.period()
        for words in period["failures"]:
            report.tally.note(Outcome.CRASHED, f"the honest client: {words}")
        if failures := stage.metric("seamark_edge_failures_total"):
            tail = stage.edge.log[-3000:]
            report.tally.note(Outcome.CRASHED, f"{failures:.0f} internal errors were counted: {tail}")
        report.stalled_ms = max(report.stalled_ms, period["p999_ms"] - baseline["p999_ms"])
        report.block_ms = stage.metric("seamark_loop_longest_block_seconds") * 1000
        report.growth_mb = memory[1] - memory[0]
    return report


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests.hostile.edge", description=__doc__)
    parser.add_argument("--fast", action="store_true", help="a part of the cases, in less than a minute")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    report = run(Options(given.fast, given.seed))
    outcomes = ", ".join(f"{outcome.value} {number}" for outcome, number in report.tally.outcomes.items())
    for line in (*report.failures[:200], f"outcomes: {outcomes}", report.line()):
        print(line)  # noqa: T201
    return 1 if report.failures else 0
