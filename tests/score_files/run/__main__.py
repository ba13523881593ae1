"""`python -m tests.score_files.run`: every folder on `seamark dev`, in parallel; what fails, and a line of sums.

`--only TEXT` runs the folders whose name contains it. The exit code is 1 if anything that can run here fails.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import time

from tests.score_files.corpus import Case, load
from tests.score_files.run.cluster import Cluster, cluster
from tests.score_files.run.folder import Folder, Outcome, Pace

MEASURES = ("accepted", "ready", "endpoint", "answered")
SERVERS = {"server:postgres": "postgres", "server:redis": "redis-server"}  # what a need runs, by its program


def offers(gateway: bool) -> frozenset[str]:
    servers = {need for need, program in SERVERS.items() if shutil.which(program)}
    return frozenset(servers | ({"gateway"} if gateway else set()))


async def run_all(cases: list[Case], pace: Pace, parallel: int, minutes: float) -> list[Outcome]:
    outcomes: list[Outcome] = []
    places = asyncio.Semaphore(parallel)
    async with cluster(places=parallel) as there:
        offered = offers("no gateways" not in there.log.read_text(errors="replace"))

        async def run(case: Case) -> None:
            async with places:
                outcome = await one(there, case, pace, offered)
            outcomes.append(outcome)
            show(outcome)

        try:
            async with asyncio.timeout(60 * minutes), asyncio.TaskGroup() as group:
                for case in cases:
                    group.create_task(run(case))
        except TimeoutError:
            left = sorted({case.name for case in cases} - {outcome.name for outcome in outcomes})
            sys.stdout.write(f"not run within {minutes:g} minutes: {', '.join(left)}\n")
            outcomes += [Outcome(name, ["not run in time"]) for name in left]
    return outcomes


async def one(there: Cluster, case: Case, pace: Pace, offered: frozenset[str]) -> Outcome:
    try:
        return await Folder(there, case, pace, offered).run()
    except Exception as error:  # one folder does not end the others
        return Outcome(case.name, [f"the runner failed: {type(error).__name__}: {error}"])


def show(outcome: Outcome) -> None:
    for problem in outcome.problems:
        sys.stdout.write(f"{outcome.name}: {problem}\n")
    if outcome.lacks:
        sys.stdout.write(f"{outcome.name}: only accepted, as there is no {', '.join(outcome.lacks)} here\n")
    sys.stdout.flush()


def wanted(case: Case, measure: str) -> bool:
    """Whether a folder is counted: what it expects, and whether it can run here."""
    expect = case.expectation.expect
    if expect is None or measure == "accepted":
        return expect is not None
    workloads = expect.workloads.values()
    return {
        "ready": any(each.ready is True for each in workloads),
        "endpoint": any(each.endpoint not in (None, "none") for each in workloads),
        "answered": bool(expect.requests),
    }[measure]


def summary(cases: list[Case], outcomes: list[Outcome]) -> str:
    by_name = {outcome.name: outcome for outcome in outcomes}
    here = [case for case in cases if not by_name[case.name].lacks]
    parts = [f"files={sum(case.valid for case in cases)}"]
    for measure in MEASURES:
        counted = [case for case in (cases if measure == "accepted" else here) if case.valid and wanted(case, measure)]
        met = sum(measure in by_name[case.name].met for case in counted)
        parts.append(f"{measure}={met}/{len(counted)}")
    return "score-files: " + " ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.score_files.run", description=__doc__)
    parser.add_argument("--only", default="", help="folders whose name contains this; several with commas")
    parser.add_argument("--deadline", type=float, default=60.0, help="seconds for every wait")
    parser.add_argument("--again", type=float, default=10.0, help="seconds before a second look at what is absent")
    parser.add_argument("--parallel", type=int, default=8, help="folders at a time")
    parser.add_argument("--minutes", type=float, default=30.0, help="for all of them")
    arguments = parser.parse_args()
    texts = arguments.only.split(",")
    cases = [case for case in load() if any(text in case.name for text in texts)]
    began = time.monotonic()
    pace = Pace(arguments.deadline, arguments.again)
    outcomes = asyncio.run(run_all(cases, pace, arguments.parallel, arguments.minutes))
    failed = sorted(outcome.name for outcome in outcomes if outcome.problems)
    lacking = sum(bool(outcome.lacks) for outcome in outcomes)
    broken = {case.name for case in cases if not case.valid}
    sys.stdout.write(f"failed: {', '.join(failed) or 'none'}\n")
    sys.stdout.write(
        f"folders={len(cases)} failed={len(failed)} needs-not-met={lacking} broken={len(broken)} "
        f"broken-refused={len(broken - set(failed))} seconds={time.monotonic() - began:.0f}\n"
    )
    sys.stdout.write(summary(cases, outcomes) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
