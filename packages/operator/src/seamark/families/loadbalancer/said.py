"""What an object's own status says of it now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seamark_runtime.api.meta import Condition
from seamark_runtime.calls import Failed
from seamark_runtime.errors import Retry


def said(obj: Any, name: str) -> Condition | None:
    """A condition of an object, if the object is there and the condition speaks of what it is now."""
    if obj is None:
        return None
    conditions: Iterable[Condition] = (obj.status.conditions if obj.status is not None else None) or ()
    generation = obj.metadata.generation or None
    return next((one for one in conditions if one.type == name and one.observed_generation == generation), None)


def was_true(obj: Any, name: str) -> bool:
    condition = said(obj, name)
    return condition is not None and condition.status == "True"


def passing(failed: Failed) -> bool:
    """Not a refusal: the edge can't be reached right now, or has answered with Retry-After."""
    return isinstance(failed.error, Retry)
