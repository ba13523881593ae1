"""Runs many schedules on all cores, or one of them as a story.

python -m tests.simulation --family core --seeds 2000
python -m tests.simulation --replay sample/7/calm/12:CRASH_AFTER,30:GONE
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.simulation.attack import GROUPS, Attack
from tests.simulation.runner import FAMILIES, set_up, shrink, simulate
from tests.simulation.schedules import Schedule
from tests.simulation.workers import batches
from tools.results import FOLDER, keep

TOLD = 3  # failures that are shrunk and printed as a story; the others are one line each


class _Parser(argparse.ArgumentParser):
    """A mistake is one line, not a page."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def main(arguments: Sequence[str]) -> int:
    parser = _Parser(prog="simulate", description="Schedules of faults, on a deterministic loop.")
    parser.add_argument("--family", default="core", help=f"one of {', '.join(GROUPS)}")
    parser.add_argument("--seeds", default="2000", help="how many schedules")
    parser.add_argument("--replay", default="", help="a seed, or a schedule as it was printed: told as a story")
    parser.add_argument("--twice", action="store_true", help="run each schedule twice, and compare its writes")
    parser.add_argument("--keep", type=Path, default=FOLDER / "simulation", help="where the numbers of runs are kept")
    try:
        given = parser.parse_args(arguments)
        family, count = _family(given.family), _number(given.seeds)
        if given.replay:
            return replay(_schedule(given.replay, family))
    except ValueError as error:
        print(f"simulate: {error}", file=sys.stderr)  # noqa: T201
        return 2
    return attack(family, count, given.keep, twice=given.twice)


def _family(name: str) -> str:
    if name not in GROUPS:
        raise ValueError(f"there is no family {name!r}; there are {', '.join(GROUPS)}")
    return name


def _number(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"SEEDS is a number of schedules, and {text!r} is none")
    return int(text)


def _schedule(text: str, family: str) -> Schedule:
    if text.isdigit():
        return Attack(family).schedule(int(text))
    if "/" not in text:
        raise ValueError(f"{text!r} is no seed: a seed is a number, or a schedule as it was printed")
    schedule = Schedule.parse(text)
    if schedule.family not in FAMILIES:
        raise ValueError(f"there is no family {schedule.family!r}; there are {', '.join(FAMILIES)}")
    return schedule


def replay(schedule: Schedule) -> int:
    set_up()
    outcome = simulate(schedule)
    _tell("\n".join(outcome.story))
    _tell(f"{schedule}: {outcome.violation or 'every promise was kept'}")
    return 1 if outcome.violation else 0


def attack(family: str, count: int, results: Path, *, twice: bool = False) -> int:
    began = time.monotonic()
    failed: list[tuple[str, str]] = []
    done, seconds = 0, 0.0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task(family, total=count)
        for batch in batches(family, count, twice=twice):
            done, seconds = done + batch.done, seconds + batch.seconds
            failed += batch.failed
            progress.update(bar, completed=done, description=f"{family}: {len(failed)} failures")
    for number, (schedule, words) in enumerate(failed):
        _explain(schedule, words, told=number < TOLD and not words.startswith("replay:"))
    took = time.monotonic() - began
    _tell(f"{done} schedules in {took:.0f} s, {1000 * seconds / done:.1f} ms of one core each")
    numbers = {"seeds": done, "failures": len(failed), "per_core_second": done / seconds, "seconds": took}
    keep(results, {"tool": "simulate", "family": family, "numbers": numbers})
    _tell(f"simulate: seeds={done} failures={len(failed)} per_core_second={done / seconds:.1f}")
    return 1 if failed else 0


def _explain(schedule: str, words: str, *, told: bool) -> None:
    if not told:
        _tell(f"{schedule}: {words}")
        return
    set_up()
    smallest = shrink(simulate(Schedule.parse(schedule)))
    _tell("\n".join(smallest.story))
    _tell(f"{schedule}: {words}")
    _tell(f"the smallest schedule that does so: {smallest.schedule}: {smallest.violation}")
    _tell(f"replay it with: make simulate ARGS='--replay {smallest.schedule}'\n")


def _tell(words: str) -> None:
    print(words, flush=True)  # noqa: T201


def _with_fixed_hashes() -> None:
    """The order of sets is part of a schedule: it must be the same in every process."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        command = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, "PYTHONHASHSEED": "0"})


if __name__ == "__main__":
    _with_fixed_hashes()
    sys.exit(main(sys.argv[1:]))
