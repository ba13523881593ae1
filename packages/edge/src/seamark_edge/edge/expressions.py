"""Expressions of callers: refused when they are set if they can't be run, or cost too much together."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from seamark_edge.edge.errors import invalid
from seamark_edge.wire.expressions import FILTER, MAX_COST, SELECTOR, ExpressionError, compiled
from seamark_runtime.cel import BudgetExceeded, CelError, Language, Meter, Program

MAX_CONDITIONS = 100  # expressions of one policy, operator or request
MAX_CONDITION_TEXT = 8 * 1024  # characters of all of them: to compile them takes 10 to 20 ms
EVALUATION_BUDGET = 50_000  # steps of all expressions that are evaluated at once: about 10 ms
LIST_BUDGET = 500_000  # steps of the filters of one request over all objects of a list: about 0.2 s


class Conditions:
    """Compiles the expressions of one `whole`; they share limits of number, text and cost."""

    def __init__(self, language: Language, whole: str) -> None:
        self._language = language
        self._whole = whole
        self._count = self._text = self._cost = 0

    def compile(self, source: str) -> Program:
        """The program; ExpressionError if it is none, or one too many."""
        self._count += 1
        self._text += len(source)
        if self._count > MAX_CONDITIONS:
            raise ExpressionError(f"{self._whole} has more than {MAX_CONDITIONS} expressions")
        if self._text > MAX_CONDITION_TEXT:
            raise ExpressionError(
                f"the expressions of {self._whole} have more than {MAX_CONDITION_TEXT} characters together"
            )
        program = compiled(source, self._language)
        self._cost += program.cost
        if self._cost > MAX_COST:
            raise ExpressionError(f"the expressions of {self._whole} cost more than {MAX_COST} steps together")
        return program


def check_selectors(sources: Iterable[str], field: str) -> None:
    """Refuse selectors that can't be run, or cost too much together."""
    _compiled(sources, Conditions(SELECTOR, "the operator"), field)


def filters(sources: Iterable[str], field: str) -> Filters:
    """The filters of one request; a refusal names the one that can't be run."""
    return Filters(_compiled(sources, Conditions(FILTER, "the request"), field))


def _compiled(sources: Iterable[str], conditions: Conditions, field: str) -> tuple[Program, ...]:
    programs = []
    for number, source in enumerate(sources):
        try:
            programs.append(conditions.compile(source))
        except ExpressionError as error:
            raise invalid(f"{field}[{number}]: {error}") from error
    return tuple(programs)


def selecting() -> Meter:
    return Meter(SELECTOR.limits, EVALUATION_BUDGET)


class Selectors:
    """The selectors of an operator, as they were set."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._programs: list[Program] = []
        for source in sources:
            with suppress(ExpressionError):  # one that an earlier version accepted selects nothing
                self._programs.append(compiled(source, SELECTOR))

    def choose(self, endpoint: dict[str, Any], meter: Meter | None = None) -> bool:
        """Whether one of them is true of this endpoint. One that fails (an unknown field) is not true.

        The evaluations have a budget together: that of `meter`, which several endpoints may share.
        """
        meter = meter or selecting()
        for program in self._programs:
            with suppress(CelError):
                if program({"endpoint": endpoint, "ep": endpoint}, meter) is True:
                    return True
        return False


class Filters:
    """The filters of one request. All objects of the list that it is about share one budget."""

    def __init__(self, programs: tuple[Program, ...]) -> None:
        self._programs = programs
        self._left = LIST_BUDGET  # steps

    def choose(self, view: dict[str, Any]) -> bool:
        """Whether all of them are true of this object. One that can't be evaluated is refused; it does not count as
        false."""
        if not self._programs:
            return True
        meter = Meter(FILTER.limits, min(EVALUATION_BUDGET, self._left))
        try:
            return all(program({"obj": view}, meter) is True for program in self._programs)
        except BudgetExceeded as error:
            if meter.spent > EVALUATION_BUDGET:
                raise invalid(f"filter: it can't be evaluated: {error}") from error
            raise invalid(f"filter: it takes more than {LIST_BUDGET:,} steps for all objects of the list") from error
        except CelError as error:
            raise invalid(f"filter: it can't be evaluated: {error}") from error
        finally:
            self._left -= meter.spent
