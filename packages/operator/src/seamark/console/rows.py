"""The board: all endpoints as they are now, and the flips of conditions that were seen.

- Flips are kept in memory, the last of each object, from the moment the console began to look.
- An object on which no endpoint stands any more is forgotten: the board is as large as what is there.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from seamark.explain.model import Hop, Said
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.source import Collection, Source

KEPT = 50
Place = tuple[Resource, Key]


@dataclass(frozen=True)
class Flip:
    at: float  # seconds since the epoch, when the console saw it
    type: str
    before: str
    after: str
    reason: str


@dataclass
class Board:
    """All endpoints as they are now; tells its listeners which have changed."""

    reports: Collection[Hop]
    wall: Callable[[], float]
    flips: dict[Place, deque[Flip]] = field(default_factory=dict)  # of places in `_standing` alone
    _said: dict[Place, tuple[Said, ...]] = field(default_factory=dict)  # of places in `_standing` alone
    _standing: Counter[Place] = field(default_factory=Counter)  # how many endpoints depend on it
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
        before, hop = self._hops.pop(at, None), next(iter(self.reports.about(at).values()), None)
        if hop is not None:
            self._hops[at] = hop
            self._standing.update(_places(hop))
            for one in hop.walk():
                self._remember(one)
        if before is not None:
            self._forget(_places(before))
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

    def _forget(self, places: set[Place]) -> None:
        for place in places:
            self._standing[place] -= 1
            if not self._standing[place]:
                del self._standing[place]
                self._said.pop(place, None)
                self.flips.pop(place, None)


def _places(hop: Hop) -> set[Place]:
    return {(one.resource, one.key) for one in hop.walk()}
