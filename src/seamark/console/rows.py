"""What the page gets: one row per endpoint, its hops from left to right, and the flips that were seen.

- A row is as the person may see it: hops of kinds or namespaces that are closed to them are only said to be there.
- Flips are kept in memory, the last of each object, from the moment the console began to look.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from seamark.api.meta import Key, Resource
from seamark.console.graph import identity
from seamark.core.source import Reports, Source
from seamark.explain import kinds
from seamark.explain.model import Hop, Said, Truth, culprit
from seamark.explain.summary import FAMILIES

KEPT = 50
Place = tuple[Resource, str]
FAMILY = {kind: family for family, members in FAMILIES.items() for kind in members} | {
    kinds.SERVICE: "loadbalancer",
    kinds.INGRESS: "other",
}


@dataclass(frozen=True)
class Flip:
    at: float  # seconds since the epoch, when the console saw it
    type: str
    before: str
    after: str
    reason: str


def places(hop: Hop) -> Iterator[Place]:
    for one in hop.walk():
        yield one.resource, one.key.namespace


def row(hop: Hop, readable: set[Place]) -> dict[str, Any]:
    """One endpoint and its hops, depth first: how deep each is tells what stands on what."""
    blamed = culprit(hop)
    return {
        "id": str(identity(hop.resource, hop.key)),
        "family": FAMILY.get(hop.resource, "other"),
        **_cell(hop, blamed, 0, readable),
        "hops": [_cell(one, blamed, depth, readable) for one, depth in _deep(hop, 1)],
    }


def _deep(hop: Hop, depth: int) -> Iterator[tuple[Hop, int]]:
    for below in hop.hops:
        if not below.again:
            yield below, depth
            yield from _deep(below, depth + 1)


def _cell(hop: Hop, blamed: Hop | None, depth: int, readable: set[Place]) -> dict[str, Any]:
    if (hop.resource, hop.key.namespace) not in readable:
        return {"kind": hop.resource.kind, "namespace": "", "name": "", "truth": Truth.HIDDEN.value, "depth": depth}
    cell = {"kind": hop.resource.kind, **hop.key._asdict(), "truth": hop.truth.value, "depth": depth}
    words = {"words": hop.words} if hop.words else {}
    return {**cell, **words, **({"how": hop.how} if hop.how else {}), **({"blamed": True} if hop is blamed else {})}


@dataclass
class Board:
    """All endpoints as they are now; tells its listeners which have changed."""

    reports: Reports[Hop]
    wall: Callable[[], float]
    flips: dict[tuple[Resource, Key], deque[Flip]] = field(default_factory=dict)
    _said: dict[tuple[Resource, Key], tuple[Said, ...]] = field(default_factory=dict)
    _hops: dict[Key, Hop] = field(default_factory=dict)
    _listeners: list[Callable[[Key], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reports.subscribe(self._changed)

    def __iter__(self) -> Iterator[Hop]:
        return iter(self._hops.values())

    def get(self, at: Key) -> Hop | None:
        return self._hops.get(at)

    def subscribe(self, listener: Callable[[Key], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _changed(self, _source: Source, at: Hashable) -> None:
        if not isinstance(at, Key):
            return
        hop = next(iter(self.reports.about(at).values()), None)
        if hop is None:
            self._hops.pop(at, None)
        else:
            self._hops[at] = hop
            for one in hop.walk():
                self._remember(one)
        for listener in list(self._listeners):
            listener(at)

    def _remember(self, hop: Hop) -> None:
        if hop.again:
            return
        at = (hop.resource, hop.key)
        before = {(one.type, one.about): one.status for one in self._said.get(at, ())}
        for one in hop.said:
            was = before.get((one.type, one.about))
            if was is not None and was != one.status:
                flip = Flip(self.wall(), one.type, was, one.status, one.reason)
                self.flips.setdefault(at, deque(maxlen=KEPT)).append(flip)
        self._said[at] = hop.said
