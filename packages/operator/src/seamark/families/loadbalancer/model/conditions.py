"""Conditions in the status of an object, as far as they are about its current generation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seamark_runtime.api.meta import Condition
from seamark_runtime.calls import Failed
from seamark_runtime.conditions import ConditionType
from seamark_runtime.errors import Conflict, Exists, Gone, Refused


def condition_of(obj: Any, name: str) -> Condition | None:
    """A condition of an object, if the object exists and the condition is about its current generation."""
    if obj is None:
        return None
    conditions: Iterable[Condition] = (obj.status.conditions if obj.status is not None else None) or ()
    generation = obj.metadata.generation or None
    current = (condition for condition in conditions if condition.observed_generation == generation)
    return next((condition for condition in current if condition.type == name), None)


def is_true(obj: Any, name: str) -> bool:
    condition = condition_of(obj, name)
    return condition is not None and condition.status == "True"


def is_refusal(failed: Failed) -> bool:
    """Whether the edge has answered about the object. All else is no answer: the edge was not reached, took too long,
    or asks us to wait."""
    return isinstance(failed.error, Refused | Exists | Gone | Conflict)


NO_EDGE = {"NoEdge": "The edge is in memory: no client reaches what it keeps"}
SERVED = ConditionType("Served", meaning="A part of Ready", reasons=NO_EDGE)


def edge_as(reachable: bool) -> tuple[Condition, ...]:
    """The part of a summary that an edge in memory adds: what it keeps is not served to anybody."""
    return () if reachable else (SERVED.unknown("NoEdge", "The edge is in memory: no client reaches what it keeps"),)
