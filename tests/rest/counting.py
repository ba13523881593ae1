"""What a rest counts. Pure: it is given objects as watches show them, and CPU times.

- A change of `status` alone is a status write, an object of kind Event an event, everything else another write.
- Left out are the kinds of `EXCLUDED`. Requests that change nothing are no writes: the API server stores nothing.
- Only what happens between `begin` and `end` counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

EXCLUDED: Mapping[str, str] = {
    "Lease": "renewed by the leader and by the node, as Kubernetes expects",
    "Node": "its kubelet reports that it runs, as on any cluster",
}
CPU_BAR = 0.05  # of one core
OF_STORING = frozenset({"resourceVersion", "managedFields"})  # of metadata: these follow from any other change
OF_FORM = frozenset({"apiVersion", "status"})  # lists leave the version of their items out


@dataclass
class Counter:
    """Fed by watches, in the order of the changes of each object."""

    status_writes: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    other_writes: list[str] = field(default_factory=list)
    changes: int = 0  # also those before `begin`: while it grows, the product is not at rest
    _counts: bool = False
    _known: dict[str, Json] = field(default_factory=dict)

    def begin(self) -> None:
        self._counts = True

    def end(self) -> None:
        self._counts = False

    def seen(self, obj: Json, deleted: bool) -> None:
        uid, before = obj["metadata"]["uid"], self._known.get(obj["metadata"]["uid"])
        if obj["kind"] in EXCLUDED or (before is not None and not deleted and _version(before) == _version(obj)):
            return
        if deleted:
            self._known.pop(uid, None)
        else:
            self._known[uid] = obj
        self.changes += 1
        if self._counts:
            self._count(obj, before, deleted)

    def _count(self, obj: Json, before: Json | None, deleted: bool) -> None:
        shown = _shown(obj)
        if obj["kind"] == "Event":
            if not deleted:  # the API server removes old ones
                self.events.append(f"{shown}: {obj.get('reason')}: {obj.get('message')}")
        elif deleted or before is None:
            self.other_writes.append(f"{shown} {'deleted' if deleted else 'created'}")
        elif _without_status(before) == _without_status(obj):
            self.status_writes.append(f"{shown}: {_difference(before.get('status'), obj.get('status'))}")
        else:
            self.other_writes.append(f"{shown} changed")


def _version(obj: Json) -> str:
    return str(obj["metadata"]["resourceVersion"])


def _shown(obj: Json) -> str:
    metadata = obj["metadata"]
    return f"{obj['kind']} {metadata.get('namespace', '')}/{metadata['name']}"


def _without_status(obj: Json) -> Json:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in OF_STORING}
    return {**{name: value for name, value in obj.items() if name not in OF_FORM}, "metadata": metadata}


def _difference(before: Any, after: Any) -> str:
    """The fields of a status that changed, with their new values."""
    old, new = before or {}, after or {}
    return ", ".join(f"{name}={new.get(name)}" for name in sorted({*old, *new}) if old.get(name) != new.get(name))


@dataclass(frozen=True)
class Result:
    """One rest. `left` are the examples' objects and checks that were not good at its end."""

    minutes: float
    counter: Counter
    cpu_share: float  # of one core, of the process with the operator
    left: tuple[str, ...] = ()

    def findings(self) -> list[str]:
        counter = self.counter
        return [
            *(f"status write: {entry}" for entry in counter.status_writes),
            *(f"event: {entry}" for entry in counter.events),
            *(f"other write: {entry}" for entry in counter.other_writes),
            *(f"not ready: {entry}" for entry in self.left),
        ]

    def missed(self) -> list[str]:
        counter = self.counter
        bars = [
            ("status_writes=0", not counter.status_writes),
            ("events=0", not counter.events),
            ("other_writes=0", not counter.other_writes),
            (f"cpu_share<={CPU_BAR:g}", self.cpu_share <= CPU_BAR),
            ("all examples are ready", not self.left),
        ]
        return [name for name, kept in bars if not kept]

    def last_line(self) -> str:
        counter = self.counter
        return (
            f"rest: minutes={self.minutes:g} status_writes={len(counter.status_writes)} events={len(counter.events)} "
            f"other_writes={len(counter.other_writes)} cpu_share={self.cpu_share:.3f}"
        )
