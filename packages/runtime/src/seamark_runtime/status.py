"""Writing status: only our fields, only when they differ, only onto the object that was judged.

Three modes, by who shares the status:
- `ByManager`: our fields by server-side apply under a field manager of our own, always the full set that we own, with
  the resourceVersion that was judged (the API server ignores a uid on `/status`, and a status meant for a deleted
  object must not land on its successor).
- `ByEntry`: our entries of a list that several controllers share, by a JSON patch that tests the resourceVersion;
  foreign entries are not even sent, so they stay as they are, in place and in order. Conditions in our entries of types
  that we do not declare are another writer's, and stay.
- `NoStatus`: for a controller that creates children for an object whose status belongs to others. Nothing is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import msgspec

from seamark_runtime.api.meta import Condition, Object, to_wire
from seamark_runtime.client import Client
from seamark_runtime.conditions import ConditionMap, ConditionType, Stamp


class StatusMode(Protocol):
    @property
    def conditions(self) -> tuple[ConditionType, ...]: ...

    def published(self, obj: Any, judged: Any) -> Any:
        """What we have already published on this object, in the shape of what was judged."""
        ...

    def stamped(self, judged: Any, published: Any, stamp: Stamp) -> Any:
        """The judgement as a statement: with generation and transition times."""
        ...

    def condition_map(self, status: Any) -> ConditionMap: ...

    def fingerprint(self, obj: Any) -> bytes:
        """Of the fields that we own in the status of an object: it differs if another writer has changed them."""
        ...

    async def write(self, client: Client, obj: Any, status: Any) -> Any: ...


@dataclass(frozen=True)
class Entries:
    """A list in a status whose entries have conditions, each known by its identity."""

    field: str  # its name on the struct and on the wire
    identity: Callable[[Any], Hashable]

    def of(self, status: Any) -> tuple[Any, ...]:
        return tuple(getattr(status, self.field) or ())

    def stamped(self, judged: Any, published: Any, stamp: Stamp) -> tuple[Any, ...]:
        """As judged, in the order in which they stand already; new ones last."""
        known = {self.identity(entry): entry for entry in self.of(published)}
        order = {identity: place for place, identity in enumerate(known)}
        entries = []
        for entry in self.of(judged):
            before = known.get(self.identity(entry))
            conditions = stamp.on(entry.conditions, before.conditions if before else ())
            entries.append(msgspec.structs.replace(entry, conditions=conditions))
        return tuple(sorted(entries, key=lambda entry: order.get(self.identity(entry), len(order))))

    def condition_map(self, status: Any) -> ConditionMap:
        return {(self.identity(e), c.type): c for e in self.of(status) for c in e.conditions or ()}


@dataclass(frozen=True)
class ByManager:
    manager: str
    conditions: tuple[ConditionType, ...]
    fields: tuple[str, ...] = ()  # the other fields of the status struct that this writer owns
    entries: Entries | None = None  # a list among those fields whose entries have conditions of their own
    policy_condition: str | None = (
        ""  # which objects are ours, in CEL about `object`: empty for all, None if CEL can't decide
    )

    def published(self, obj: Any, judged: Any) -> Any:
        status = obj.status if obj.status is not None else type(judged)()
        known = {condition.type: condition for condition in status.conditions or ()}
        types = [condition.type for condition in judged.conditions] or [declared.name for declared in self.conditions]
        ours = tuple(known[name] for name in types if name in known)  # without conditions all of them are removed
        values = {name: getattr(status, name) for name in self._names(judged)}
        return type(judged)(conditions=ours, **values)

    def _names(self, judged: Any) -> tuple[str, ...]:
        return (*self.fields, "observed_generation") if hasattr(judged, "observed_generation") else self.fields

    def stamped(self, judged: Any, published: Any, stamp: Stamp) -> Any:
        changes: dict[str, Any] = {"conditions": stamp.on(judged.conditions, published.conditions)}
        if hasattr(judged, "observed_generation"):
            changes["observed_generation"] = stamp.generation
        if self.entries is not None and getattr(judged, self.entries.field) is not None:
            changes[self.entries.field] = self.entries.stamped(judged, published, stamp)
        return msgspec.structs.replace(judged, **changes)

    def condition_map(self, status: Any) -> ConditionMap:
        own: ConditionMap = {("", condition.type): condition for condition in status.conditions or ()}
        return own if self.entries is None else {**own, **self.entries.condition_map(status)}

    def fingerprint(self, obj: Any) -> bytes:
        """Without `observed_generation`: that may be several writers'."""
        if obj.status is None:
            return b""
        types = {declared.name for declared in self.conditions}
        ours = sorted((c for c in obj.status.conditions or () if c.type in types), key=lambda c: str(c.type))
        return digest((ours, [getattr(obj.status, name) for name in self.fields]))

    async def write(self, client: Client, obj: Any, status: Any) -> Any:
        fields = {"metadata": {"resourceVersion": obj.metadata.resource_version}, "status": to_wire(status)}
        written = await client.named(self.manager).apply(type(obj), obj.key, fields, "status")
        if left := self._left(written, status):
            version = {"resourceVersion": written.metadata.resource_version}
            patch = {"metadata": version, "status": left}
            written = await client.named(self.manager).merge_patch(type(obj), obj.key, patch, "status")
        return written

    def _left(self, written: Any, status: Any) -> dict[str, None]:
        """Fields that we do not set but a predecessor has set: no other writer would remove them."""
        after = written.status
        silent = () if after is None else [name for name in self.fields if getattr(status, name) is None]
        left = [name for name in silent if getattr(after, name) is not None]
        wire = {info.name: info.encode_name for info in msgspec.structs.fields(type(after))} if left else {}
        return {wire[name]: None for name in left}


MOST_CONDITIONS = 8  # of one entry, as the Gateway API has it


@dataclass(frozen=True)
class ByEntry:
    """`ours` tells our entries from foreign ones, the declared types our conditions in them."""

    entries: Entries
    ours: Callable[[Any], bool]
    conditions: tuple[ConditionType, ...]
    policy_condition: str = ""  # the same as `ours`, in CEL about `one`

    def published(self, obj: Any, judged: Any) -> Any:
        return type(judged)(**{self.entries.field: self._published(obj)})

    def _published(self, obj: Any) -> tuple[Any, ...]:
        return tuple(self._own(entry) for entry in self._standing(obj) or () if self.ours(entry))

    def _own(self, entry: Any) -> Any:
        """An entry of ours without the conditions of others."""
        conditions = conditions_in(entry)
        own = tuple(condition for condition in conditions if condition.type in self._types)
        return entry if len(own) == len(conditions) else msgspec.structs.replace(entry, conditions=own)

    def _with_others(self, wanted: Any, entry: Any) -> Any:
        """As wanted, with the conditions of others that the entry has; of more than the limit, ours are kept."""
        others = [condition for condition in conditions_in(entry) if condition.type not in self._types]
        if not others:
            return wanted
        conditions = (*wanted.conditions, *others)[: max(MOST_CONDITIONS, len(wanted.conditions))]
        return msgspec.structs.replace(wanted, conditions=conditions)

    @cached_property
    def _types(self) -> frozenset[str]:
        return frozenset(declared.name for declared in self.conditions)

    def stamped(self, judged: Any, published: Any, stamp: Stamp) -> Any:
        return msgspec.structs.replace(judged, **{self.entries.field: self.entries.stamped(judged, published, stamp)})

    def condition_map(self, status: Any) -> ConditionMap:
        return self.entries.condition_map(status)

    def fingerprint(self, obj: Any) -> bytes:
        return digest(self._published(obj))

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
            elif new != self._own(entry):
                value = to_wire(self._with_others(new, entry))
                replaced.append({"op": "replace", "path": f"{path}/{place}", "value": value})
        added = [{"op": "add", "path": f"{path}/-", "value": to_wire(entry)} for entry in left.values()]
        return [*replaced, *removed, *added]

    def _standing(self, obj: Object) -> tuple[Any, ...] | None:
        """All entries, foreign ones too, as they stand; None where there is no list yet."""
        status = getattr(obj, "status", None)
        return None if status is None else getattr(status, self.entries.field)


@dataclass(frozen=True)
class NoStatus:
    """Writes nothing: no field of the status is ours. Problems become events, by `announce`."""

    conditions: tuple[ConditionType, ...] = ()

    def published(self, _obj: Any, _judged: Any) -> Any:
        return None

    def stamped(self, _judged: Any, _published: Any, _stamp: Stamp) -> Any:
        return None

    def condition_map(self, _status: Any) -> ConditionMap:
        return {}

    def fingerprint(self, _obj: Any) -> bytes:
        return b""

    async def write(self, _client: Client, obj: Any, _status: Any) -> Any:
        raise AssertionError(f"{obj.key}: a silent controller never gets here, as nothing ever differs")


def conditions_in(entry: Any) -> tuple[Condition, ...]:
    """The conditions of an entry; none where its kind has no conditions."""
    return getattr(entry, "conditions", None) or ()


def digest(value: Any) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=16).digest()
