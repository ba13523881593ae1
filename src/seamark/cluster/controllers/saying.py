"""A status that is one controller's alone, written whole as the real controllers write theirs.

- A condition's transition time moves when its status flips; the time of its last update whenever it says something
  else, or when there was progress.
- Annotations that belong to the status (a Deployment's revision) go with it through the same door, so that they
  change no generation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seamark.api.meta import to_wire
from seamark.cluster.controllers.kinds import WorkloadCondition
from seamark.core.client import Client
from seamark.core.conditions import ConditionType, Stamp, Statements

MANAGER = "kube-controller-manager"


@dataclass(frozen=True)
class Judged:
    """A status, and the annotations that go with it."""

    status: Any
    annotations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    annotations: tuple[str, ...] = ()
    progressed: Callable[[Any, Any], bool] | None = None  # (judged, said): whether a rollout moved on
    conditions: tuple[ConditionType, ...] = ()

    def said(self, obj: Any, _judged: Any) -> Judged:
        return Judged(obj.status, {name: obj.annotation(name) for name in self.annotations if obj.annotation(name)})

    def stamped(self, judged: Judged, said: Judged, stamp: Stamp) -> Judged:
        changes: dict[str, Any] = {"observed_generation": stamp.generation}
        if hasattr(judged.status, "conditions"):
            moved = self.progressed is not None and self.progressed(judged.status, said.status)
            changes["conditions"] = timed(judged.status.conditions, said.status.conditions, stamp.time, moved=moved)
        return Judged(msgspec.structs.replace(judged.status, **changes), judged.annotations)

    def statements(self, _status: Any) -> Statements:
        return {}

    async def write(self, client: Client, obj: Any, judged: Judged) -> Any:
        metadata: dict[str, Any] = {"resourceVersion": obj.metadata.resource_version}
        if judged.annotations:
            metadata["annotations"] = judged.annotations
        status = {"replicas": 0, **to_wire(judged.status)}
        return await client.named(MANAGER).apply(type(obj), obj.key, {"metadata": metadata, "status": status}, "status")


def timed(
    judged: tuple[WorkloadCondition, ...], said: tuple[WorkloadCondition, ...], now: str, *, moved: bool
) -> tuple[WorkloadCondition, ...]:
    """The conditions with their times. One that says something else goes to the end, as with the real controllers."""
    before = {condition.type: condition for condition in said}
    order = {name: place for place, name in enumerate(before)}
    stamped = [_timed(condition, before.get(condition.type), now, moved=moved) for condition in judged]
    return tuple(sorted(stamped, key=lambda one: order[one.type] if _same(one, before.get(one.type)) else len(order)))


def _same(judged: WorkloadCondition, before: WorkloadCondition | None) -> bool:
    return before is not None and (before.status, before.reason) == (judged.status, judged.reason)


def _timed(judged: WorkloadCondition, before: WorkloadCondition | None, now: str, *, moved: bool) -> WorkloadCondition:
    updates = judged.last_update_time is not None  # the judgement says by this that there is such a time
    if before is None:
        return msgspec.structs.replace(judged, last_transition_time=now, last_update_time=now if updates else None)
    changes = {"last_transition_time": before.last_transition_time if before.status == judged.status else now}
    if updates:
        as_before = (before.status, before.reason, before.message) == (judged.status, judged.reason, judged.message)
        stands = as_before and not (moved and judged.type == "Progressing")
        changes["last_update_time"] = before.last_update_time if stands else now
    return msgspec.structs.replace(judged, **changes)
