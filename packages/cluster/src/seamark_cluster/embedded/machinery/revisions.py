"""What etcd is to the API server: one counter, objects by key, and the log of every change.

- Every write is one event with a revision of its own; objects carry the revision that wrote them.
- Objects are values: a stored one is never changed in place.
- The log reaches back to `compacted`. Reading an older revision (a page of an old list, a resumed watch) needs the log.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from seamark_cluster.embedded.machinery.errors import Json

ObjectKey = tuple[str, str]
"""Namespace ("" for cluster-scoped kinds) and name."""

Subscriber = Callable[["Event"], None]


class Event:
    """One change of one object. `old` is its former value (None for the first), `new` its new one (None for a
    deletion).
    """

    __slots__ = ("key", "lines", "new", "old", "resource", "revision")

    def __init__(self, revision: int, resource: str, key: ObjectKey, old: Json | None, new: Json | None) -> None:
        self.revision = revision
        self.resource = resource
        self.key = key
        self.old = old
        self.new = new
        self.lines: dict[Any, bytes] = {}

    def gone(self) -> Json:
        """The last state of a deleted object, at the revision of its deletion."""
        assert self.old is not None
        return {**self.old, "metadata": {**self.old["metadata"], "resourceVersion": str(self.revision)}}


class Table:
    """The objects of one resource, with their keys in order."""

    __slots__ = ("keys", "objects")

    def __init__(self) -> None:
        self.objects: dict[ObjectKey, Json] = {}
        self.keys: list[ObjectKey] = []

    def put(self, key: ObjectKey, new: Json | None) -> None:
        if new is None:
            del self.objects[key]
            del self.keys[bisect_left(self.keys, key)]
        else:
            if key not in self.objects:
                insort(self.keys, key)
            self.objects[key] = new


class Revisions:
    """The store's state and history.

    - `write` is the only way to change it; `current` counts writes. At least the last `keep` of them stay in the log.
    - `compact` drops history up to a revision; `restore` goes back to one that is still in the log.
    """

    def __init__(self, first: int = 1, keep: int = 10_000) -> None:
        self.current = first
        self._keep = keep
        self.compacted = first
        self._tables: dict[str, Table] = {}
        self._log: list[Event] = []
        self._subscribers: dict[str, dict[int, Subscriber]] = {}
        self._next_subscriber = 0
        self._all_subscribers: list[Subscriber] = []

    def follow(self, subscriber: Subscriber) -> None:
        """Calls the listener with every change of every resource."""
        self._all_subscribers.append(subscriber)

    def table(self, resource: str) -> Table:
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = Table()
        return table

    def resources(self) -> list[str]:
        return list(self._tables)

    def get(self, resource: str, key: ObjectKey) -> Json | None:
        table = self._tables.get(resource)
        return table.objects.get(key) if table is not None else None

    def objects(self, resource: str) -> Iterator[tuple[ObjectKey, Json]]:
        table = self.table(resource)
        for key in table.keys:
            yield key, table.objects[key]

    def write(self, resource: str, key: ObjectKey, new: Json | None) -> Json:
        """Writes an object (and sets its resourceVersion), or deletes it. Returns the object for watchers."""
        table = self.table(resource)
        old = table.objects.get(key)
        self.current += 1
        if new is not None:
            new["metadata"]["resourceVersion"] = str(self.current)
        table.put(key, new)
        event = Event(self.current, resource, key, old, new)
        self._log.append(event)
        if len(self._log) > 2 * self._keep:
            self.compact(self._log[-self._keep].revision)
        for subscriber in (*self._subscribers.get(resource, {}).values(), *self._all_subscribers):
            subscriber(event)
        return new if new is not None else event.gone()

    def subscribe(self, resource: str, subscriber: Subscriber) -> Callable[[], None]:
        token = self._next_subscriber
        self._next_subscriber += 1
        self._subscribers.setdefault(resource, {})[token] = subscriber
        return lambda: self._subscribers[resource].pop(token, None) and None

    def since(self, resource: str, revision: int) -> Iterator[Event]:
        start = bisect_right(self._log, revision, key=lambda event: event.revision)
        for event in self._log[start:]:
            if event.resource == resource:
                yield event

    def at(self, resource: str, revision: int) -> Table:
        """The table at a revision. The caller has checked that the log reaches back that far."""
        if revision >= self.current:
            return self.table(resource)
        changed: dict[ObjectKey, Json | None] = {}
        for event in reversed(list(self.since(resource, revision))):
            changed[event.key] = event.old
        past = Table()
        past.objects = dict(self.table(resource).objects)
        for key, old in changed.items():
            if old is None:
                past.objects.pop(key, None)
            else:
                past.objects[key] = old
        past.keys = sorted(past.objects)
        return past

    def compact(self, revision: int | None = None) -> None:
        """Drops the history before `revision` (before now, if none is given)."""
        upto = self.current if revision is None else min(revision, self.current)
        if upto > self.compacted:
            self.compacted = upto
            self._log = [event for event in self._log if event.revision > upto]

    def restore(self, revision: int) -> None:
        """Goes back to `revision`: later writes are undone, and their revisions will be used again."""
        if not self.compacted <= revision <= self.current:
            raise ValueError(f"revision {revision} is not in the history ({self.compacted}-{self.current})")
        for resource in self.resources():
            self._tables[resource] = self.at(resource, revision)
        self._log = [event for event in self._log if event.revision <= revision]
        self.current = revision

    def load(self, objects: Mapping[tuple[str, str, str], Json], revision: int) -> None:
        """Replaces everything by these objects (by resource, namespace and name) at that revision, without history."""
        self._tables = {}
        for (resource, namespace, name), obj in objects.items():
            self.table(resource).put((namespace, name), obj)
        self._log = []
        self.current = self.compacted = max(revision, self.current)


def encode(value: Any) -> bytes:
    return msgspec.json.encode(value)
