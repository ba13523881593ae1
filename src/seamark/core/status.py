"""Writing status: only our fields, only when they differ, only onto the object that was judged.

Two modes, by who shares the status:
- `ByManager`: our fields by server-side apply under a field manager of our own, always the full set that we own, with
  the resourceVersion that was judged (the API server ignores a uid on `/status`, and a status meant for a deleted
  object must not land on its successor).
- `ByEntry`: our entries of a list that several controllers share, by a JSON patch that tests the resourceVersion;
  foreign entries are not even sent, so they stay as they are, in place and in order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from seamark.api.meta import Condition, Object, to_wire
from seamark.core.client import Client
from seamark.core.conditions import ConditionType, Stamp


class StatusMode(Protocol):
    @property
    def conditions(self) -> tuple[ConditionType, ...]: ...

    def said(self, obj: Any, judged: Any) -> Any:
        """What we have already said on this object, in the shape of what was judged."""
        ...

    def stamped(self, judged: Any, said: Any, stamp: Stamp) -> Any:
        """The judgement as a statement: with generation and transition times."""
        ...

    def all_conditions(self, status: Any) -> tuple[Condition, ...]: ...

    async def write(self, client: Client, obj: Any, status: Any) -> Any: ...


@dataclass(frozen=True)
class ByManager:
    manager: str
    conditions: tuple[ConditionType, ...]
    fields: tuple[str, ...] = ()  # the other fields of the status struct that this writer owns

    def said(self, obj: Any, judged: Any) -> Any:
        status = obj.status if obj.status is not None else type(judged)()
        known = {condition.type: condition for condition in status.conditions or ()}
        ours = tuple(known[condition.type] for condition in judged.conditions if condition.type in known)
        values = {name: getattr(status, name) for name in self._names(judged)}
        return type(judged)(conditions=ours, **values)

    def _names(self, judged: Any) -> tuple[str, ...]:
        return (*self.fields, "observed_generation") if hasattr(judged, "observed_generation") else self.fields

    def stamped(self, judged: Any, said: Any, stamp: Stamp) -> Any:
        changes: dict[str, Any] = {"conditions": stamp.on(judged.conditions, said.conditions)}
        if hasattr(judged, "observed_generation"):
            changes["observed_generation"] = stamp.generation
        return msgspec.structs.replace(judged, **changes)

    def all_conditions(self, status: Any) -> tuple[Condition, ...]:
        return tuple(status.conditions or ())

    async def write(self, client: Client, obj: Any, status: Any) -> Any:
        fields = {"metadata": {"resourceVersion": obj.metadata.resource_version}, "status": to_wire(status)}
        return await client.named(self.manager).apply(type(obj), obj.key, fields, "status")


@dataclass(frozen=True)
class ByEntry:
    """`ours` tells our entries from foreign ones, `identity` one of ours from another."""

    field: str  # the list, by its name on the struct and on the wire
    ours: Callable[[Any], bool]
    identity: Callable[[Any], Hashable]
    conditions: tuple[ConditionType, ...]

    def said(self, obj: Any, judged: Any) -> Any:
        return type(judged)(**{self.field: tuple(entry for entry in self._entries(obj) or () if self.ours(entry))})

    def stamped(self, judged: Any, said: Any, stamp: Stamp) -> Any:
        known = {self.identity(entry): entry for entry in getattr(said, self.field)}
        entries = []
        for entry in getattr(judged, self.field):
            before = known.get(self.identity(entry))
            conditions = stamp.on(entry.conditions, before.conditions if before else ())
            entries.append(msgspec.structs.replace(entry, conditions=conditions))
        order = {identity: place for place, identity in enumerate(known)}
        entries.sort(key=lambda entry: order.get(self.identity(entry), len(order)))  # as they stand; new ones last
        return msgspec.structs.replace(judged, **{self.field: tuple(entries)})

    def all_conditions(self, status: Any) -> tuple[Condition, ...]:
        return tuple(condition for entry in getattr(status, self.field) for condition in entry.conditions)

    async def write(self, client: Client, obj: Any, status: Any) -> Any:
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": obj.metadata.resource_version}
        operations = [test, *self.operations(obj, getattr(status, self.field))]
        return await client.json_patch(type(obj), obj.key, operations, "status")

    def operations(self, obj: Any, wanted: tuple[Any, ...]) -> list[dict[str, Any]]:
        """Replace, remove and append our entries; indexes hold because the resourceVersion is tested first."""
        entries = self._entries(obj)
        if not entries:  # absent and empty look alike here; with its version tested, either can be replaced
            base = [] if obj.status is not None else [{"op": "add", "path": "/status", "value": {}}]
            return [*base, {"op": "add", "path": f"/status/{self.field}", "value": to_wire(wanted)}]
        left = {self.identity(entry): entry for entry in wanted}
        replaced: list[dict[str, Any]] = []
        removed: list[dict[str, Any]] = []
        for place, entry in enumerate(entries):
            if not self.ours(entry):
                continue
            path = f"/status/{self.field}/{place}"
            new = left.pop(self.identity(entry), None)
            if new is None:
                removed.insert(0, {"op": "remove", "path": path})  # from the end, so that places stay right
            elif new != entry:
                replaced.append({"op": "replace", "path": path, "value": to_wire(new)})
        added = [{"op": "add", "path": f"/status/{self.field}/-", "value": to_wire(entry)} for entry in left.values()]
        return [*replaced, *removed, *added]

    def _entries(self, obj: Object) -> tuple[Any, ...] | None:
        status = getattr(obj, "status", None)
        return None if status is None else getattr(status, self.field)
