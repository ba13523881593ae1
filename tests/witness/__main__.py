"""python -m tests.witness --minutes N: faults for N minutes; every claim is compared with what clients see."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.witness.run import Run
from tests.witness.sandbox import INSIDE, enter


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests.witness", description=__doc__)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", action="store_true", help="with shorter intervals than the defaults")
    parser.add_argument("--self-test", action="store_true", help="show that a false status is found")
    given = parser.parse_args(arguments)
    if os.geteuid() != 0:
        print("the witness needs root: it makes network namespaces of its own", file=sys.stderr)  # noqa: T201
        return 2
    if INSIDE not in os.environ:
        enter(arguments)
    with tempfile.TemporaryDirectory(prefix="witness-") as folder:
        run = Run(Path(folder), given.seed, short=given.short)
        try:
            return self_test(run) if given.self_test else witness(run, given.minutes)
        finally:
            run.stop()


def witness(run: Run, minutes: float) -> int:
    if run.world.faketime is None:
        run.say("libfaketime is not installed (Debian's package faketime): no clock jumps")
    run.start()
    run.torment(minutes)
    outcome = run.outcome(minutes)
    for line in [*outcome.lines(), *(f"missed: {bar}" for bar in outcome.missed()), outcome.last_line()]:
        print(line, flush=True)  # noqa: T201
    return 1 if outcome.missed() else 0


def self_test(run: Run) -> int:
    """A program that keeps a false status is to be found."""
    found = run.finds_the_liar()
    run.say("self-test: the liar was found" if found else "self-test: the liar was not found")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
