"""One run, from the start of everything to the last line."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from seamark_cluster.network.closed import NODE
from tests.hostile import bases as manifests
from tests.hostile.attack import Attack
from tests.hostile.cases import Case, Plan, api_places, baseline, fast, planned, schemas
from tests.hostile.client import Client
from tests.hostile.instances import known
from tests.hostile.known_names import CANARY, HOSTILE
from tests.hostile.observers import ConsoleReader, Metrics
from tests.hostile.plants import PLANTS
from tests.hostile.programs import Program
from tests.hostile.report import Report
from tests.hostile.results import judged_fields, shown
from tests.hostile.verdict import UNREPORTED, Outcome, stalled_ms
from tests.hostile.world import World, address, fronts, gateway, world
from tests.soak.world import HOME

KEPT = Path("build-output")
FAST, SAMPLE = 420, 300  # cases of the fast run, and of the two runs after which memory is compared
DOUBTS = 60
BASELINE, FAST_BASELINE = 90.0, 12.0  # seconds of valid objects, as many at once as in the attack
POLITE = 5  # the judge's niceness: it shares the machine with what it judges


@dataclass(frozen=True)
class Options:
    fast: bool = False
    seed: int = 1
    minutes: float = 25.0  # of attack at most; the start and the end come on top
    per_group: int = 1
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    plant: str = ""


class Run:
    def __init__(self, there: World, options: Options) -> None:
        self._world = there
        self._options = options
        self._report = Report()
        self._began = time.monotonic()

    async def __call__(self) -> Report:
        plane = self._world.plane
        token = plane.user(HOSTILE).token
        async with (
            Client(plane.url, plane.ca, plane.admin.token) as admin,
            Client(plane.url, plane.ca, token) as tenant,
        ):
            bases = manifests.load()
            places = await api_places(admin, bases)
            options = self._options
            plan = planned(
                bases, await schemas(admin, bases), per_group=options.per_group, seed=options.seed, only=options.only
            )
            attack = Attack(self._world, tenant, places)
            attack.trials.start()
            self._metrics = Metrics(self._world.programs, lambda: attack.flying)
            console = ConsoleReader(token, attack.trials.inspect)
            beside = [asyncio.ensure_future(self._metrics.run())]
            beside.append(asyncio.ensure_future(console.run()))
            try:
                await self._phases(attack, plan, bases)
                await self._metrics.read()  # what came last
                self._count(attack, plan)
                if not console.lines:
                    self._report.crashed.append("the console showed the hostile tenant nothing, not even its own")
            finally:
                for task in beside:
                    task.cancel()
                await attack.trials.watching.stop()
        return self._report

    def _tell(self, words: str) -> None:
        print(f"{time.monotonic() - self._began:6.0f} s  {words}", flush=True)  # noqa: T201

    async def _phases(self, attack: Attack, plan: Plan, bases: dict[str, list[manifests.Base]]) -> None:
        report, options = self._report, self._options
        canary = self._world.folder / "canary.jsonl"
        started = time.time()
        await self._baseline(attack, baseline(bases, options.only))
        until = time.time()
        if options.plant:
            attack.on_case = PLANTS[options.plant](self._world, attack)
        cases = self._chosen(plan)
        deadline = time.monotonic() + options.minutes * 60
        sample = cases[: SAMPLE if options.fast else 2 * SAMPLE]
        self._tell(f"{len(cases)} cases on {len(plan.fields)} fields of {len(plan.kinds)} kinds")
        await attack.run(sample, deadline)
        first = await self._settled(attack)
        if not options.fast:
            self._tell("the first of them again, for memory")
            await attack.run(sample, deadline)
            report.second_run_mb = await self._settled(attack) - first
        await attack.run(cases[len(sample) :], deadline)
        self._tell(f"{len(attack.tally.results)} cases were tried; now once more what seemed silent")
        await attack.again(DOUBTS)
        attack.tally.stuck = await attack.cleared()
        written_down(attack)
        samples = [json.loads(line) for line in canary.read_text().splitlines()] if canary.exists() else []
        report.crossed += sorted({f"canary {one['crossed']}: {one['words']}" for one in samples if "crossed" in one})
        report.stalled_ms = stalled_ms(_times(samples, started, until), _times(samples, until, time.time()))
        report.notes += _slowest(samples, until)

    def _chosen(self, plan: Plan) -> list[Case]:
        """The known instances first, then by turns of kinds and classes."""
        canary = address(gateway(self._world, *fronts(self._world)[1]))
        instances = [case for case in known(canary) if not self._options.only or case.kind in self._options.only]
        others = fast(plan, FAST) if self._options.fast else plan.cases
        found = [*instances, *others]
        return [case for case in found if not any(text in str(case) for text in self._options.without)]

    async def _baseline(self, attack: Attack, cases: list[Case]) -> None:
        """Every base, again and again: whether it is spoken of, and how long the canary takes beside valid objects."""
        self._tell(f"{len(cases)} valid objects, again and again")
        end = time.monotonic() + (FAST_BASELINE if self._options.fast else BASELINE)
        while not attack.tally.results or time.monotonic() < end:
            await attack.run(cases)
        report, poor = self._report, {}
        for result in attack.tally.results:
            key = shown(result.case)
            speaks = result.outcome in (Outcome.SERVED, Outcome.REPORTED)
            attack.trials.speaks[key] = attack.trials.speaks.get(key, False) or speaks
            if result.outcome is not Outcome.SERVED:
                poor[str(result.case)] = f"{result.outcome.value}: {result.words}"
            if result.outcome is Outcome.REFUSED:
                report.crashed.append(f"the base manifest of {result.case.kind} can't be used: {result.words}")
        for (kind, shower), speaks in sorted(attack.trials.speaks.items()):
            if not speaks and kind not in UNREPORTED:
                report.silent.append(f"{kind}: nothing is reported about a valid one ({shower or kind} would show it)")
        report.notes += [f"base {name}: {words[:900]}" for name, words in sorted(poor.items())]
        attack.forget()

    async def _settled(self, attack: Attack) -> float:
        """Memory of all of Seamark's processes when nothing of the attack is left."""
        await attack.cleared()
        await asyncio.sleep(5)
        return self._world.rss_mb

    def _count(self, attack: Attack, plan: Plan) -> None:
        report = self._report
        report.count(attack.tally)
        report.kinds, report.fields = len(plan.kinds), len(plan.fields)
        done, unjudged = judged_fields(plan.fields, attack.tally.results)
        report.done, report.unjudged = len(done), sum(unjudged.values())
        counted = {f"{kind} (what is reported; {unjudged[kind]} fields)": why for kind, why in UNREPORTED.items()}
        report.left_out = {**plan.left_out, **counted}
        report.loop_blocks = self._metrics.blocks
        report.notes += [*attack.tally.restarts, *self._metrics.blamed]
        failures = [failure for program in self._world.programs for failure in program.failures()]
        blamed = set()
        for failure in failures:
            names = [name for name in sorted(failure.cases) if name in attack.cases]
            who = str(attack.cases[names[0]]) if names else "a case that the log does not name"
            if names or not any(words.startswith(failure.program) for words in attack.tally.restarts):
                blamed.add(f"{failure.program}: {failure.words[:160]}: {who}")
        report.crashed += sorted(blamed)
        if self._metrics.crashed and not failures:
            report.crashed.append(f"{self._metrics.crashed:.0f} reconciles ended with an exception")
        report.crossed += attack.trials.leaks
        logs = [program for program in self._world.programs if self._leaked(program)]
        report.crossed += [f"the log of {program.name} has a marker of the canary's Secrets" for program in logs]

    def _leaked(self, program: Program) -> bool:
        text = program.log.read_bytes()
        return any(mark.encode() in text for mark in (self._world.markers.word, self._world.markers.key))


def _times(samples: list[dict[str, object]], since: float, until: float) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for one in samples:
        if "family" in one and since <= float(str(one["at"])) < until:
            found.setdefault(str(one["family"]), []).append(float(str(one["seconds"])))
    return found


def _slowest(samples: list[dict[str, object]], since: float) -> list[str]:
    during = _times(samples, since, float("inf"))
    return [
        f"canary {name}: {len(times)} changes, longest {max(times):.2f} s" for name, times in sorted(during.items())
    ]


@contextmanager
def watched_canary(there: World) -> Iterator[None]:
    config = {
        "url": there.plane.url,
        "ca": str(there.plane.ca),
        "token": there.plane.admin.token,
        "namespace": CANARY,
        "home": HOME,
        "private": there.markers.private,
        "out": str(there.folder / "canary.jsonl"),
        "gateway": address(gateway(there, *fronts(there)[1])),
        "edge": f"{NODE}:443",
        "resolver": f"127.0.0.1:{there.names.port}",
    }
    file = there.folder / "canary.json"
    file.write_text(json.dumps(config))
    program = Program("canary", canary_command(file), {}, there.folder / "canary.log")
    program.start()
    try:
        yield
        assert not program.ended, program.log.read_text()[-2000:]
    finally:
        program.stop()


def canary_command(file: Path) -> list[str]:
    return [sys.executable, "-m", "tests.hostile.canary", str(file)]


def run(options: Options) -> Report:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        there = stack.enter_context(world(Path(folder)))
        stack.callback(keep, there)
        with watched_canary(there):
            os.nice(POLITE)
            report = asyncio.run(Run(there, options)())
        for line in report.lines(whole=not options.fast):  # at once: to end everything takes a while
            print(line, flush=True)  # noqa: T201
    return report


def written_down(attack: Attack) -> None:
    """Every case and its outcome."""
    KEPT.mkdir(exist_ok=True)
    with (KEPT / "hostile-cases.jsonl").open("w") as out:
        for result in attack.tally.results:
            told = {"outcome": result.outcome.value, "seconds": round(result.seconds, 2), "words": result.words}
            out.write(json.dumps({"case": str(result.case), **told}) + "\n")


def keep(there: World) -> None:
    """The logs, for finding the cause."""
    KEPT.mkdir(exist_ok=True)
    for program in there.programs:
        (KEPT / f"hostile-{program.name}.log").write_bytes(program.log.read_bytes())
    canary = there.folder / "canary.jsonl"
    if canary.exists():
        (KEPT / "hostile-canary.jsonl").write_bytes(canary.read_bytes())
