"""The conditions of a runtime → RuntimeReady. Pure.

- A runtime names a state by the type of a condition that is True, or by the reason of one that is not.
- Bad news comes before good. The runtime's own summary comes first where its reason is in `TABLE`, then its order.
- A runtime's own reason and message stay in the message where the abstract reason replaces them.
"""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.score import Exposure
from seamark.families.score.mirror.state import GOOD, TABLE
from seamark.families.score.model.conditions import RUNTIME_READY
from seamark_runtime.api.meta import Condition
from seamark_runtime.conditions import FALSE, TRUE, UNKNOWN

SUMMARIES = ("RuntimeReady", "Ready")
RANK = {name: rank for rank, name in enumerate(TABLE)}


@dataclass(frozen=True)
class Problem:
    """Bad news of one condition: its name in the table, and whether it is known to be so."""

    name: str
    status: str
    message: str
    summary: bool = False  # it is the reason of the runtime's own summary

    @property
    def order(self) -> tuple[bool, int]:
        return not self.summary, RANK[self.name]


def normalised(conditions: tuple[Condition, ...], top: Exposure | None) -> Condition:
    """By the table; without any condition that is known, what the runtime published speaks for it."""
    if problems := [found for condition in conditions if (found := _problem(condition)) is not None]:
        worst = min(problems, key=lambda problem: problem.order)
        make = RUNTIME_READY.false if worst.status == FALSE else RUNTIME_READY.unknown
        return make(TABLE[worst.name], worst.message)
    if top is not None and top.reachable is False:
        return RUNTIME_READY.false("RuntimeDegraded", "The runtime reports that the endpoint can't be reached")
    if top is not None and top.ready is False:
        return RUNTIME_READY.false("NetworkUnavailable", "The runtime reports that the endpoint is not ready")
    return _without_problems(conditions, top)


def _without_problems(conditions: tuple[Condition, ...], top: Exposure | None) -> Condition:
    good = [condition for condition in conditions if condition.status == TRUE and _is_good(condition)]
    if good:
        return RUNTIME_READY.true("Succeeded", good[0].message or f"The runtime reports {good[0].type}")
    if conditions:
        others = "; ".join(sorted(f"{found.type}={found.status} {_detail(found)}" for found in conditions))
        return RUNTIME_READY.unknown("RuntimeProvisioning", f"No condition of the runtime shows its health: {others}")
    if top is not None:
        return RUNTIME_READY.true("Succeeded", "The runtime published an endpoint")
    return RUNTIME_READY.unknown("RuntimeProvisioning", "The runtime has published no endpoint")


def _is_good(condition: Condition) -> bool:
    return condition.type in GOOD or (condition.type not in TABLE and condition.reason in GOOD)


def _problem(condition: Condition) -> Problem | None:
    if condition.type in TABLE:  # True is a problem
        status = FALSE if condition.status == TRUE else UNKNOWN
        message = condition.message or condition.reason or condition.type
        return None if condition.status == FALSE else Problem(condition.type, status, message)
    if condition.status == TRUE:
        contradicts = condition.type in GOOD and condition.reason in TABLE
        return (
            Problem(condition.reason, UNKNOWN, f"{condition.type}=True {_detail(condition)}") if contradicts else None
        )
    if condition.reason in TABLE:
        summary = condition.type in SUMMARIES
        return Problem(condition.reason, condition.status, condition.message or condition.reason, summary)
    if condition.type in GOOD:
        name = "Unavailable" if condition.status == FALSE else "Provisioning"
        return Problem(name, condition.status, _detail(condition))
    return None  # an unknown type: it changes nothing


def _detail(condition: Condition) -> str:
    """The runtime's own reason and message."""
    return ": ".join(filter(None, (condition.reason, condition.message))) or f"{condition.type} is {condition.status}"
