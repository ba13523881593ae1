"""Plants every bug of the bank, one at a time, and shows by which promise and schedule it is caught.

python -m tests.simulation.seeded_bugs [--only TEXT]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.simulation.bugs.bank import BANK, named
from tests.simulation.bugs.bug import Bug
from tests.simulation.runner import set_up, simulate, undisturbed
from tests.simulation.schedules import Schedule, every_request_times_every_fault, swarm
from tests.sources import PYTHONPATH

ROOT = Path(__file__).parents[2]
LONGEST = 900.0  # seconds of a hunt, on a machine that is busy with other things
STRIDE = 7  # of all requests times all faults, every so many first: they differ more than their neighbours


@dataclass(frozen=True)
class Caught:
    """How it went with one bug: the promise that was broken and the schedule, or neither."""

    bug: str
    invariant: str = ""
    schedule: str = ""
    tried: int = 0
    trouble: str = ""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="seeded-bugs", description="Plant every known bug, and see it caught.")
    parser.add_argument("--only", default="", help="only bugs with this text in their name")
    parser.add_argument("--bug", default="", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.bug:
        print(json.dumps(hunt(named(given.bug)).__dict__))  # noqa: T201  read by the parent
        return 0
    chosen = [bug for bug in BANK if given.only in bug.name]
    return report(chosen, list(catch_all(chosen)))


def catch_all(bugs: Sequence[Bug]) -> Iterator[Caught]:
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        hunts = {pool.submit(catch, bug): bug for bug in bugs}
        for done in as_completed(hunts):
            bug, caught = hunts[done], done.result()
            where = f"{caught.invariant:18} {caught.schedule}" if caught.invariant else f"NOT CAUGHT {caught.trouble}"
            print(f"{bug.kind:31} {bug.name:36} {where}", flush=True)  # noqa: T201
            yield caught


def catch(bug: Bug) -> Caught:
    """Hunts it in a process of its own."""
    paths = [str(ROOT), PYTHONPATH, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "tests.simulation.seeded_bugs", "--bug", bug.name]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return Caught(bug.name, trouble=f"in {LONGEST:g} s")
    try:
        return Caught(**json.loads(done.stdout.splitlines()[-1]))
    except (IndexError, ValueError, TypeError):
        return Caught(bug.name, trouble=done.stderr[-2000:] or "the hunt ended without output")


def hunt(bug: Bug) -> Caught:
    """Runs schedules, those that are likely first, until a promise is broken. Only for a process of its own."""
    bug.plant()
    if bug.test:
        return caught_by_its_test(bug)
    set_up()

    def schedules() -> Iterator[Schedule]:
        yield from map(Schedule.parse, bug.first)
        yield from map(Schedule, ("sample", "unverified", "election"))
        singles = [
            one
            for family in ("sample", "unverified", "election")
            for one in every_request_times_every_fault(family, undisturbed(family).requests)
        ]
        for start in range(STRIDE):
            yield from singles[start::STRIDE]
            for seed in range(start * 100, start * 100 + 100):
                yield swarm("sample", seed, undisturbed("sample").requests)

    for number, schedule in enumerate(schedules()):
        outcome = simulate(schedule)
        if outcome.violation is not None:
            return Caught(bug.name, outcome.violation.invariant, str(schedule), number + 1)
    return Caught(bug.name, trouble="by any schedule")


def caught_by_its_test(bug: Bug) -> Caught:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--no-header", bug.test])
    if code is pytest.ExitCode.TESTS_FAILED:
        return Caught(bug.name, "regression test", bug.test, 1)
    return Caught(bug.name, trouble=f"by {bug.test}: {shown.getvalue()[-500:]}")


def report(bugs: Sequence[Bug], found: Sequence[Caught]) -> int:
    caught = sum(1 for one in found if one.invariant)
    print(f"seeded-bugs: caught={caught} of={len(bugs)}")  # noqa: T201
    return 0 if caught == len(bugs) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
