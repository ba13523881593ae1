"""Read your own writes.

- After a write, its key is not observed again before the cache has seen the write, or a list begun after it.
- The key waits outside of any worker; when the last of its expectations is met, it is queued if it was asked for.
- A list may lack what was written and has gone since, or was undone: no change tells of that, so the key is queued.
- After `bound` seconds `overdue` names what is still missing, and a live read decides (see `core.overdue`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seamark.api.meta import Key
from seamark.core.cache import Change
from seamark.core.queue import Item
from seamark.core.source import Informer
from seamark.core.watch import number


@dataclass(eq=False, slots=True)
class Expectation:
    """A write that the cache has to show. `version` 0 means: the object of this uid is gone."""

    item: Item
    informer: Informer[Any]
    key: Key
    uid: str
    version: int
    lists: int
    deadline: float
    met: bool = False

    def holds(self) -> bool:
        if self.informer.listed > self.lists:
            return True
        if self.version:
            return self.informer.revision >= self.version
        known = self.informer.cache.get(self.key)
        return known is None or known.uid != self.uid or known.deleting


class Expectations:
    def __init__(self, wake: Callable[[Item], None], bound: float = 10.0) -> None:
        self._wake = wake
        self._bound = bound
        self._of: dict[Item, list[Expectation]] = {}
        self._parked: set[Item] = set()
        self._versions: dict[int, list[tuple[int, int, Expectation]]] = {}  # per informer: a heap by version
        self._deletions: dict[tuple[int, Key], list[Expectation]] = {}
        self._listed: dict[int, int] = {}  # per informer: the last list that was looked at
        self._sequence = 0

    def attach(self, informer: Informer[Any]) -> None:
        self._versions[id(informer)] = []
        informer.on_progress(self._progressed)
        informer.on_change(self._changed)

    def written(self, item: Item, informer: Informer[Any], key: Key, version: str, now: float) -> None:
        """The write of this object was answered with this version."""
        self._expect(Expectation(item, informer, key, "", number(version), informer.lists, now + self._bound))

    def deleted(self, item: Item, informer: Informer[Any], key: Key, uid: str, now: float) -> None:
        self._expect(Expectation(item, informer, key, uid, 0, informer.lists, now + self._bound))

    def park(self, item: Item) -> bool:
        """True if the key still waits for its writes: it will be queued when the last one is seen."""
        if item not in self._of:
            return False
        self._parked.add(item)
        return True

    def patience(self, item: Item, now: float) -> float:
        """Seconds until the first of the key's expectations is overdue."""
        return max(0.0, min(expectation.deadline for expectation in self._of[item]) - now)

    def overdue(self, item: Item, now: float) -> list[Expectation]:
        return [expectation for expectation in self._of.get(item, ()) if expectation.deadline <= now]

    def extend(self, expectation: Expectation, now: float) -> None:
        expectation.deadline = now + self._bound

    def release(self, expectation: Expectation) -> None:
        """A live read has shown that this write can't come any more."""
        self._meet(expectation)

    def forget(self, item: Item) -> None:
        for expectation in self._of.pop(item, ()):
            expectation.met = True
        self._parked.discard(item)

    def _expect(self, expectation: Expectation) -> None:
        if expectation.holds():
            return
        self._of.setdefault(expectation.item, []).append(expectation)
        self._sequence += 1
        if expectation.version:
            heap = self._versions[id(expectation.informer)]
            heapq.heappush(heap, (expectation.version, self._sequence, expectation))
        else:
            self._deletions.setdefault((id(expectation.informer), expectation.key), []).append(expectation)

    def _progressed(self, informer: Informer[Any]) -> None:
        heap = self._versions[id(informer)]
        while heap and heap[0][2].holds():
            self._meet(heapq.heappop(heap)[2])
        if self._listed.get(id(informer)) != informer.listed:
            self._listed[id(informer)] = informer.listed
            for place in [place for place in self._deletions if place[0] == id(informer)]:
                self._look_at_deletions(place)

    def _changed(self, informer: Informer[Any], change: Change[Any]) -> None:
        self._look_at_deletions((id(informer), change.key))

    def _look_at_deletions(self, place: tuple[int, Key]) -> None:
        for expectation in self._deletions.pop(place, ()):
            if expectation.holds():
                self._meet(expectation)
            else:
                self._deletions.setdefault(place, []).append(expectation)

    def _meet(self, expectation: Expectation) -> None:
        if expectation.met:
            return
        expectation.met = True
        item = expectation.item
        if expectation.informer.listed > expectation.lists:
            self._parked.add(item)
        left = [other for other in self._of.get(item, ()) if not other.met]
        if left:
            self._of[item] = left
            return
        self._of.pop(item, None)
        if item in self._parked:
            self._parked.discard(item)
            self._wake(item)
