"""Writing status: only our fields, only when they differ, only onto the object that was judged.

Three modes, by who shares the status:
- `ByManager`: our fields by server-side apply under a field manager of our own, always the full set that we own, with
  the resourceVersion that was judged (the API server ignores a uid on `/status`, and a status meant for a deleted
  object must not land on its successor).
- `ByEntry`: our entries of a list that several controllers share, by a JSON patch that tests the resourceVersion;
  foreign entries are not even sent, so they stay as they are, in place and in order.
- `Silent`: for a controller that makes children for an object whose status is others'. Nothing is ever written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from seamark.api.meta import Object, to_wire
from seamark.core.client import Client
from seamark.core.conditions import ConditionType, Stamp, Statements


class StatusMode(Protocol):
    @property
    def conditions(self) -> tuple[ConditionType, ...]: ...

    def said(self, obj: Any, judged: Any) -> Any:
        """What we have already said on this object, in the shape of what was judged."""
        ...

    def stamped(self, judged: Any, said: Any, stamp: Stamp) -> Any:
        """The judgement as a statement: with generation and transition times."""
        ...

    def statements(self, status: Any) -> Statements: ...

    async def write(self, client: Client, obj: Any, status: Any) -> Any: ...


@dataclass(frozen=True)
class Entries:
    """A list in a status whose entries have conditions, each known by its identity."""

    field: str  # its name on the struct and on the wire
    identity: Callable[[Any], Hashable]

    def of(self, status: Any) -> tuple[Any, ...]:
        return tuple(getattr(status, self.field) or ())

    def stamped(self, judged: Any, said: Any, stamp: Stamp) -> tuple[Any, ...]:
        """As judged, in the order in which they stand already; new ones last."""
        known = {self.identity(entry): entry for entry in self.of(said)}
        order = {identity: place for place, identity in enumerate(known)}
        entries = []
        for entry in self.of(judged):
            before = known.get(self.identity(entry))
            conditions = stamp.on(entry.conditions, before.conditions if before else ())
            entries.append(msgspec.structs.replace(entry, conditions=conditions))
        return tuple(sorted(entries, key=lambda entry: order.get(self.identity(entry), len(order))))

    def statements(self, status: Any) -> Statements:
        return {(self.identity(e), c.type): c for e in self.of(status) for c in e.conditions or ()}


@dataclass(frozen=True)
class ByManager:
    manager: str
    conditions: tuple[ConditionType, ...]
    fields: tuple[str, ...] = ()  # the other fields of the status struct that this writer owns
    entries: Entries | None = None  # a list among those fields whose entries have conditions of their own
    fence: str | None = ""  # which objects are ours, in CEL about `object`: empty for all, None where it can't be told

    def said(self, obj: Any, judged: Any) -> Any:
        status = obj.status if obj.status is not None else type(judged)()
        known = {condition.type: condition for condition in status.conditions or ()}
        types = [condition.type for condition in judged.conditions] or [declared.name for declared in self.conditions]
        ours = tuple(known[name] for name in types if name in known)  # to say nothing any more takes back all of it
        values = {name: getattr(status, name) for name in self._names(judged)}
        return type(judged)(conditions=ours, **values)

    def _names(self, judged: Any) -> tuple[str, ...]:
        return (*self.fields, "observed_generation") if hasattr(judged, "observed_generation") else self.fields

    def stamped(self, judged: Any, said: Any, stamp: Stamp) -> Any:
        changes: dict[str, Any] = {"conditions": stamp.on(judged.conditions, said.conditions)}
        if hasattr(judged, "observed_generation"):
            changes["observed_generation"] = stamp.generation
        if self.entries is not None and getattr(judged, self.entries.field) is not None:
            changes[self.entries.field] = self.entries.stamped(judged, said, stamp)
        return msgspec.structs.replace(judged, **changes)

    def statements(self, status: Any) -> Statements:
        own: Statements = {("", condition.type): condition for condition in status.conditions or ()}
        return own if self.entries is None else {**own, **self.entries.statements(status)}

    async def write(self, client: Client, obj: Any, status: Any) -> Any:
        fields = {"metadata": {"resourceVersion": obj.metadata.resource_version}, "status": to_wire(status)}
        written = await client.named(self.manager).apply(type(obj), obj.key, fields, "status")
        if left := self._left(written, status):
            version = {"resourceVersion": written.metadata.resource_version}
            patch = {"metadata": version, "status": left}
            written = await client.named(self.manager).merge_patch(type(obj), obj.key, patch, "status")
        return written

    def _left(self, written: Any, status: Any) -> dict[str, None]:
        """Fields of which we say nothing, while a predecessor's word stands: nobody else would ever take it away."""
        after = written.status
        silent = () if after is None else [name for name in self.fields if getattr(status, name) is None]
        left = [name for name in silent if getattr(after, name) is not None]
        wire = {info.name: info.encode_name for info in msgspec.structs.fields(type(after))} if left else {}
        return {wire[name]: None for name in left}


@dataclass(frozen=True)
class ByEntry:
    """`ours` tells our entries from foreign ones."""

    entries: Entries
    ours: Callable[[Any], bool]
    conditions: tuple[ConditionType, ...]
    fence: str = ""  # the same as `ours`, in CEL about `one`

    def spoken(self, obj: Any) -> bool:
        """Whether there are words of ours on an object."""
        return any(self.ours(entry) for entry in self._standing(obj) or ())

    def said(self, obj: Any, judged: Any) -> Any:
        ours = tuple(entry for entry in self._standing(obj) or () if self.ours(entry))
        return type(judged)(**{self.entries.field: ours})

    def stamped(self, judged: Any, said: Any, stamp: Stamp) -> Any:
        return msgspec.structs.replace(judged, **{self.entries.field: self.entries.stamped(judged, said, stamp)})

    def statements(self, status: Any) -> Statements:
        return self.entries.statements(status)

    async def write(self, client: Client, obj: Any, status: Any) -> Any:
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": obj.metadata.resource_version}
        operations = [test, *self.operations(obj, self.entries.of(status))]
        return await client.json_patch(type(obj), obj.key, operations, "status")

    def operations(self, obj: Any, wanted: tuple[Any, ...]) -> list[dict[str, Any]]:
        """Replace, remove and append our entries; places hold because the resourceVersion is tested first."""
        standing, path = self._standing(obj), f"/status/{self.entries.field}"
        if not standing:  # absent and empty look alike here; with its version tested, either can be replaced
            base = [] if obj.status is not None else [{"op": "add", "path": "/status", "value": {}}]
            return [*base, {"op": "add", "path": path, "value": to_wire(wanted)}]
        left = {self.entries.identity(entry): entry for entry in wanted}
        replaced: list[dict[str, Any]] = []
        removed: list[dict[str, Any]] = []
        for place, entry in enumerate(standing):
            if not self.ours(entry):
                continue
            new = left.pop(self.entries.identity(entry), None)
            if new is None:
                removed.insert(0, {"op": "remove", "path": f"{path}/{place}"})  # from the end, so that places hold
            elif new != entry:
                replaced.append({"op": "replace", "path": f"{path}/{place}", "value": to_wire(new)})
        added = [{"op": "add", "path": f"{path}/-", "value": to_wire(entry)} for entry in left.values()]
        return [*replaced, *removed, *added]

    def _standing(self, obj: Object) -> tuple[Any, ...] | None:
        """All entries, foreign ones too, as they stand; None where there is no list yet."""
        status = getattr(obj, "status", None)
        return None if status is None else getattr(status, self.entries.field)


@dataclass(frozen=True)
class Silent:
    """Says nothing: there is no field of the status that is ours. Troubles become events, by `announce`."""

    conditions: tuple[ConditionType, ...] = ()

    def said(self, _obj: Any, _judged: Any) -> Any:
        return None

    def stamped(self, _judged: Any, _said: Any, _stamp: Stamp) -> Any:
        return None

    def statements(self, _status: Any) -> Statements:
        return {}

    async def write(self, _client: Client, obj: Any, _status: Any) -> Any:
        raise AssertionError(f"{obj.key}: a silent controller never gets here, as nothing ever differs")
