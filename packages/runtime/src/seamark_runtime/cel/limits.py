"""How large an expression may be and how long it may run."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_runtime.cel.values import CelError

CHARACTERS_PER_STEP = 10  # of text that a function reads or makes, as in Kubernetes' cost model
PATTERN_WORK_PER_STEP = 32  # characters times states of the compiled pattern: RE2's worst case
DYNAMIC_PATTERN = 500  # steps to compile a simple pattern that is not in the source; its states are added
INVALID_PATTERN = 5000  # steps until such a pattern is found to be invalid or too large


@dataclass(frozen=True)
class Limits:
    """Of one language. A step is about 0.3 µs of work."""

    length: int  # characters of the source
    depth: int  # levels of the syntax tree
    nodes: int  # nodes of the syntax tree
    budget: int  # steps of one evaluation
    text: int  # characters of a text that an expression makes
    cost: int | None = None  # highest estimate in steps; None: not estimated, the budget alone applies
    input_items: int = 64  # for the estimate: items of a list or map in a variable
    input_text: int = 4096  # for the estimate: characters of a text in a variable
    pattern_memory: int = 8 * 2**20  # bytes that a compiled pattern may take


class BudgetExceeded(CelError):
    """The evaluation was stopped. No operator absorbs this error, as `||` does with others."""


class Meter:
    """Counts the steps of an evaluation, or of several that share a budget. `spent` never decreases."""

    __slots__ = ("_budget", "limits", "spent")

    def __init__(self, limits: Limits, budget: int | None = None) -> None:
        self.limits = limits
        self._budget = limits.budget if budget is None else budget
        self.spent = 0

    def charge(self, steps: int) -> None:
        self.spent += steps
        if self.spent > self._budget:
            raise BudgetExceeded(f"cost limit exceeded: the evaluation takes more than {self._budget} steps")

    def make_text(self, length: int) -> None:
        """Call before a text of this length is made."""
        if length > self.limits.text:
            raise CelError(f"text of {length} characters: at most {self.limits.text} are allowed")
        self.charge(length // CHARACTERS_PER_STEP)


def weight(value: object) -> int:
    """Steps that it takes to read a value once."""
    if isinstance(value, str | bytes):
        return len(value) // CHARACTERS_PER_STEP
    return len(value) if isinstance(value, list | dict) else 0
