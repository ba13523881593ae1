"""A status with a single writer, applied whole as kube-controller-manager does.

- A condition's lastTransitionTime changes when its status does; lastUpdateTime changes with status, reason or message,
  or on progress.
- Annotations that belong to the status (a Deployment's revision) are written with it on the status subresource, so that
  the generation does not change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seamark_cluster.controllers.workload.kinds import WorkloadCondition
from seamark_runtime.api.meta import to_wire
from seamark_runtime.client import Client
from seamark_runtime.conditions import ConditionMap, ConditionType, Stamp
from seamark_runtime.status import digest

MANAGER = "kube-controller-manager"


@dataclass(frozen=True)
class Judged:
    """A status, and the annotations written with it."""

    status: Any
    annotations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WholeStatus:
    annotations: tuple[str, ...] = ()
    progressed: Callable[[Any, Any], bool] | None = None  # (judged, written): whether a rollout progressed
    conditions: tuple[ConditionType, ...] = ()

    def published(self, obj: Any, _judged: Any) -> Judged:
        return Judged(obj.status, {name: obj.annotation(name) for name in self.annotations if obj.annotation(name)})

    def stamped(self, judged: Judged, written: Judged, stamp: Stamp) -> Judged:
        changes: dict[str, Any] = {"observed_generation": stamp.generation}
        if hasattr(judged.status, "conditions"):
            moved = self.progressed is not None and self.progressed(judged.status, written.status)
            changes["conditions"] = timed(judged.status.conditions, written.status.conditions, stamp.time, moved=moved)
        return Judged(msgspec.structs.replace(judged.status, **changes), judged.annotations)

    def condition_map(self, _status: Any) -> ConditionMap:
        return {}

    def fingerprint(self, obj: Any) -> bytes:
        return digest(obj.status)

    async def write(self, client: Client, obj: Any, judged: Judged) -> Any:
        metadata: dict[str, Any] = {"resourceVersion": obj.metadata.resource_version}
        if judged.annotations:
            metadata["annotations"] = judged.annotations
        status = {"replicas": 0, **to_wire(judged.status)}
        return await client.named(MANAGER).apply(type(obj), obj.key, {"metadata": metadata, "status": status}, "status")


def timed(
    judged: tuple[WorkloadCondition, ...], written: tuple[WorkloadCondition, ...], now: str, *, moved: bool
) -> tuple[WorkloadCondition, ...]:
    """The conditions with their times. A changed condition moves to the end, as in kube-controller-manager."""
    before = {condition.type: condition for condition in written}
    order = {name: place for place, name in enumerate(before)}
    stamped = [_timed(condition, before.get(condition.type), now, moved=moved) for condition in judged]
    return tuple(
        sorted(stamped, key=lambda item: order[item.type] if _same(item, before.get(item.type)) else len(order))
    )


def _same(judged: WorkloadCondition, before: WorkloadCondition | None) -> bool:
    return before is not None and (before.status, before.reason) == (judged.status, judged.reason)


def _timed(judged: WorkloadCondition, before: WorkloadCondition | None, now: str, *, moved: bool) -> WorkloadCondition:
    updates = judged.last_update_time is not None  # set by the judgement where the condition has a lastUpdateTime
    if before is None:
        return msgspec.structs.replace(judged, last_transition_time=now, last_update_time=now if updates else None)
    changes = {"last_transition_time": before.last_transition_time if before.status == judged.status else now}
    if updates:
        as_before = (before.status, before.reason, before.message) == (judged.status, judged.reason, judged.message)
        stands = as_before and not (moved and judged.type == "Progressing")
        changes["last_update_time"] = before.last_update_time if stands else now
    return msgspec.structs.replace(judged, **changes)
