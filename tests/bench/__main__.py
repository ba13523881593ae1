"""Measures a family on a control plane of its own, against what the API server can do at the most."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

import uvloop

from seamark_runtime.errors import SeamarkError
from tests.bench.edge import __main__ as edge
from tests.bench.hardship import kill, restart
from tests.bench.report import Drawn, Finished, save
from tests.bench.scenario import own_course
from tests.bench.setting import Setting, setting
from tests.bench.standard import drawn, standard

MANY = 10_000


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--family", default="core")
    parser.add_argument("--n", type=int, default=1000, help="how many objects")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of floor and operator, at the most")
    parser.add_argument("--minutes", type=float, default=10, help="how long the pairs may take together")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--restart",
        type=int,
        nargs="?",
        const=MANY,
        metavar="N",
        help=f"instead: start the operator over N healthy objects ({MANY} if not said)",
    )
    instead.add_argument("--kill", action="store_true", help="instead: kill the API server in the middle of the work")
    return parser.parse_args(given)


async def bench(asked: argparse.Namespace) -> Finished:
    if (own := own_course(asked.family)) is not None and not asked.restart and not asked.kill:
        return await own(asked, say)
    async with setting(asked.family) as where:
        if asked.restart:
            restarted = await restart(where, asked.restart, say)
            return kept(asked.family, "restart", restarted, restarted.text(asked.family))
        if asked.kill:
            killed = await kill(where, asked.n, say)
            return kept(asked.family, "kill", killed, killed.text(asked.family))
        return await compare(where, asked)


async def compare(where: Setting, asked: argparse.Namespace) -> Finished:
    line, details = await standard(where, asked.n, asked.pairs, 60 * asked.minutes, say)
    plot = drawn(details["pairs"], asked.n, where.scenario.targets.time_vs_floor)
    finished = kept(asked.family, "standard", {"result": line, **details}, line.text(asked.family), plot)
    return replace(finished, missed=tuple(line.missed(where.scenario.targets)))


def kept(family: str, part: str, result: object, last_line: str, plot: Drawn | None = None) -> Finished:
    say(f"details are in {save(family, part, result, drawn=plot)}")
    return Finished(last_line)


def shown(finished: Finished) -> int:
    """Prints the result; the exit code is 1 when a bar was missed."""
    for missed in finished.missed:
        say(f"missed: {missed}")
    say(finished.line)
    return 1 if finished.missed else 0


def main() -> int:
    asked = arguments()
    if asked.family == "edge":  # it has no Kubernetes in it, and processes of its own
        edge.main()
        return 0
    try:
        return shown(uvloop.run(bench(asked)))
    except SeamarkError as error:
        print(error.message, file=sys.stderr)  # noqa: T201
        return 1


if __name__ == "__main__":
    sys.exit(main())
