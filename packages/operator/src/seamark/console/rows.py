"""The board: the current state of all endpoints, and the condition changes observed.

- Flips are kept in memory, the last of each object, from the moment the console began to look.
- An object on which no endpoint depends any more is dropped: the memory is bounded by what exists.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from seamark.console.leaders import Leaders
from seamark.explain.model import Hop, ObservedCondition
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.source import Collection, Source

FLIPS_PER_OBJECT = 50
ObjectRef = tuple[Resource, Key]


@dataclass(frozen=True)
class Flip:
    at: float  # seconds since the epoch, when the console saw it
    type: str
    before: str
    after: str
    reason: str


@dataclass
class Board:
    """The current state of all endpoints; notifies subscribers of changed ones."""

    reports: Collection[Key, Hop]
    wall: Callable[[], float]
    leaders: Leaders = field(default_factory=Leaders)
    flips: dict[ObjectRef, deque[Flip]] = field(default_factory=dict)  # of places in `_standing` alone
    _conditions: dict[ObjectRef, tuple[ObservedCondition, ...]] = field(
        default_factory=dict
    )  # of places in `_standing` alone
    _references: Counter[ObjectRef] = field(default_factory=Counter)  # how many endpoints depend on it
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
        before, hop = self._hops.pop(at, None), next(iter(self.reports.entries(at).values()), None)
        if hop is not None:
            self._hops[at] = hop
            self._references.update(_references_of(hop))
            for below in hop.walk():
                self._remember(below)
        if before is not None:
            self._forget(_references_of(before))
        for listener in list(self._listeners):
            listener(at)

    def _remember(self, hop: Hop) -> None:
        if hop.repeated:
            return
        at = (hop.resource, hop.key)
        before = {(condition.type, condition.about): condition.status for condition in self._conditions.get(at, ())}
        for condition in hop.conditions:
            was = before.get((condition.type, condition.about))
            if was is not None and was != condition.status:
                flip = Flip(self.wall(), condition.type, was, condition.status, condition.reason)
                self.flips.setdefault(at, deque(maxlen=FLIPS_PER_OBJECT)).append(flip)
        self._conditions[at] = hop.conditions

    def _forget(self, references: set[ObjectRef]) -> None:
        for reference in references:
            self._references[reference] -= 1
            if not self._references[reference]:
                del self._references[reference]
                self._conditions.pop(reference, None)
                self.flips.pop(reference, None)


def _references_of(hop: Hop) -> set[ObjectRef]:
    return {(below.resource, below.key) for below in hop.walk()}
