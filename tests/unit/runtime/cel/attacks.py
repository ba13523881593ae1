"""`python -m tests.unit.runtime.cel.attacks MUTANT`: expressions that must be stopped, and defects that let one pass.

Each attack takes well under a second if nothing stops it, so that a mistake is found and not waited for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from seamark_runtime.cel import (
    BudgetExceeded,
    CelError,
    Language,
    Limits,
    SyntaxProblem,
    cost,
    loops,
    operators,
    program,
)
from seamark_runtime.cel.cost import PER_ITEM, estimate
from seamark_runtime.cel.functions import Library
from seamark_runtime.cel.library import STANDARD
from seamark_runtime.cel.limits import Meter
from seamark_runtime.cel.scope import Evaluate, Scope
from seamark_runtime.cel.syntax import Loop, Node
from tests.simulation.bugs.bug import Bugs, swap

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


MUTANTS = Bugs("cost")


@MUTANTS.bug("the cost is not estimated", "an expression is compiled whatever it costs")
def the_cost_is_not_estimated() -> None:
    def nothing(_tree: Node, _limits: Limits, _library: Library) -> int:
        return 0

    swap(estimate, nothing)


@MUTANTS.bug("loops in loops add up", "the cost of a loop in a loop is added, not multiplied")
def loops_in_loops_add_up() -> None:
    original = cost._Estimator._loop

    def added(self: cost._Estimator, loop: Loop, names: cost.Names) -> cost.Estimate:
        _, shape = original(self, loop, names)
        before, over = self.of(loop.over, names)
        body, _ = self.of(loop.body, {**names, loop.variable: over.item or self._input})
        return before + over.items + body, shape

    swap(cost._Estimator._loop, added)


@MUTANTS.bug("a loop charges nothing", "the items of a loop are not counted")
def a_loop_charges_nothing() -> None:
    original = loops.loop

    def free(node: Loop, over: Evaluate, test: Evaluate | None, body: Evaluate, _steps: int) -> Evaluate:
        return original(node, over, test, body, -PER_ITEM)

    swap(loops.loop, free)


@MUTANTS.bug("an operand absorbs the end of the budget", "the end of the budget counts as an error of one operand")
def an_operand_absorbs_the_end_of_the_budget() -> None:
    original = program._decided

    def absorbing(operand: Evaluate) -> Evaluate:
        def evaluate(scope: Scope) -> Any:
            try:
                return operand(scope)
            except BudgetExceeded as error:
                raise CelError(str(error)) from error

        return evaluate

    def decided(operands: Iterable[Evaluate], scope: Scope, *, decisive: bool) -> bool:
        return original(map(absorbing, operands), scope, decisive=decisive)

    swap(program._decided, decided)


@MUTANTS.bug("equality is free", "comparing values costs nothing")
def equality_is_free() -> None:
    original = operators.equal

    def free(meter: Meter, left: Any, right: Any) -> bool:
        return original(Meter(meter.limits, 10**12), left, right)

    swap(operators.equal, free)


def unstopped() -> list[str]:
    """The attacks that went through."""
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
    next(bug for bug in MUTANTS.found if bug.name == sys.argv[1]).plant()
    print(len(unstopped()))  # noqa: T201  read by the test
