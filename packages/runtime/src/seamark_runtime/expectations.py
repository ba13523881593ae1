"""Read your own writes.

- After a write, its request is not reconciled before the cache shows the write, or a list that was started after it.
- The request waits outside any worker; when the last of its expectations is met, it is enqueued if it was requested.
- A list may lack what was written and deleted or reverted since: there is no event of that, so the request is enqueued.
- After `bound` seconds `overdue` names what is still missing, and a live read decides (see `overdue`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Change
from seamark_runtime.request import Request
from seamark_runtime.source import Informer
from seamark_runtime.watch import number


@dataclass(eq=False, slots=True)
class Expectation:
    """A write that the cache has to show. `version` 0 means: the object of this uid is gone."""

    request: Request
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
    def __init__(self, enqueue: Callable[[Request], None], bound: float = 10.0) -> None:
        self._enqueue = enqueue
        self._bound = bound
        self._of: dict[Request, list[Expectation]] = {}
        self._parked: set[Request] = set()
        self._versions: dict[int, list[tuple[int, int, Expectation]]] = {}  # per informer: a heap by version
        self._deletions: dict[tuple[int, Key], list[Expectation]] = {}
        self._listed: dict[int, int] = {}  # per informer: the last list that was looked at
        self._sequence = 0

    def attach(self, informer: Informer[Any]) -> None:
        self._versions[id(informer)] = []
        informer.on_progress(self._progressed)
        informer.on_change(self._changed)

    def written(self, request: Request, informer: Informer[Any], key: Key, version: str, now: float) -> None:
        """A write of this object has returned this version."""
        self._expect(Expectation(request, informer, key, "", number(version), informer.lists, now + self._bound))

    def deleted(self, request: Request, informer: Informer[Any], key: Key, uid: str, now: float) -> None:
        self._expect(Expectation(request, informer, key, uid, 0, informer.lists, now + self._bound))

    def park(self, request: Request) -> bool:
        """True if the key still waits for its writes: it will be queued when the last one is seen."""
        if request not in self._of:
            return False
        self._parked.add(request)
        return True

    def patience(self, request: Request, now: float) -> float:
        """Seconds until the first of the key's expectations is overdue."""
        return max(0.0, min(expectation.deadline for expectation in self._of[request]) - now)

    def overdue(self, request: Request, now: float) -> list[Expectation]:
        return [expectation for expectation in self._of.get(request, ()) if expectation.deadline <= now]

    def extend(self, expectation: Expectation, now: float) -> None:
        expectation.deadline = now + self._bound

    def release(self, expectation: Expectation) -> None:
        """A live read has shown that this write can't come any more."""
        self._meet(expectation)

    def forget(self, request: Request) -> None:
        for expectation in self._of.pop(request, ()):
            expectation.met = True
        self._parked.discard(request)

    def _expect(self, expectation: Expectation) -> None:
        if expectation.holds():
            return
        self._of.setdefault(expectation.request, []).append(expectation)
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
        request = expectation.request
        if expectation.informer.listed > expectation.lists:
            self._parked.add(request)
        left = [other for other in self._of.get(request, ()) if not other.met]
        if left:
            self._of[request] = left
            return
        self._of.pop(request, None)
        if request in self._parked:
            self._parked.discard(request)
            self._enqueue(request)
