"""`python -m tests.unit.cel.attacks MUTANT`: expressions that must be stopped, and mistakes with which one is not.

Each attack takes well under a second if nothing stops it, so that a mistake is found and not waited for.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from tests.simulation.bugs.bug import Bug, Change

TEN = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"


def nested(levels: int, dot: str = ".") -> str:
    source = "true"
    for level in range(levels):
        source = f"{TEN}{dot}all(x{level}, {source})"
    return source


def shared(levels: int) -> str:
    """A value that is small in memory and large when it is walked: each list holds the one below ten times."""
    source = f"x{levels}"
    for level in range(levels, 0, -1):
        source = f"cel.bind(x{level}, {TEN}.map(i, x{level - 1}), {source})"
    return f"cel.bind(x0, {TEN}, {source})"


REFUSED = (nested(5), nested(5, ".//\n"), nested(5, " . // all\n"))
STOPPED = (nested(5), f"{nested(5)} || true", f"[1, 2].exists(i, {nested(5)})", f"{shared(4)} == {shared(4)}")


def _mutant(name: str, module: str, before: str, after: str) -> Bug:
    return Bug(name, "cost", name, (Change(module, before, after),))


MUTANTS = {
    bug.name: bug
    for bug in (
        _mutant(
            "the cost limit looks at the text",
            "seamark_runtime.cel.program",
            "else estimate(tree, limits, library)",
            'else 5000 * text.count(".all(")',
        ),
        _mutant(
            "loops in loops add up",
            "seamark_runtime.cel.cost",
            "over.items * (body + test + PER_ITEM)",
            "over.items + body + test + PER_ITEM",
        ),
        _mutant("a loop charges nothing", "seamark_runtime.cel.loops", "meter.charge(per_item)", "meter.charge(0)"),
        _mutant(
            "an operand absorbs the end of the budget",
            "seamark_runtime.cel.program",
            "        except BudgetExceeded:\n            raise\n",
            "",
        ),
        _mutant("equality is free", "seamark_runtime.cel.operators", "    meter.charge(1)\n", ""),
    )
}


def unstopped() -> list[str]:
    """The attacks that went through."""
    from seamark_runtime.cel import BudgetExceeded, Language, Limits, SyntaxProblem  # noqa: PLC0415  with the mistake in it
    from seamark_runtime.cel.library import STANDARD  # noqa: PLC0415

    limits = Limits(length=4096, depth=32, nodes=500, budget=10_000, text=10_000, cost=10_000)
    priced, unpriced = Language(STANDARD, limits), Language(STANDARD, replace(limits, cost=None))
    through: list[str] = []
    for source in REFUSED:
        try:
            priced.compile(source)
        except SyntaxProblem:
            continue
        through.append(source)
    for source in STOPPED:
        try:
            unpriced.compile(source)({})
        except BudgetExceeded:
            continue
        through.append(source)
    return through


if __name__ == "__main__":
    MUTANTS[sys.argv[1]].plant()
    print(len(unstopped()))  # noqa: T201  read by the test
