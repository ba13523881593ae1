"""The event router: from changes to reconcile requests.

- A request is enqueued when its own object changes, or anything that its last reconcile has read; for no other reason.
- No request of a controller before all of its declared sources have synced; then one for every key.
- The keys of a collection are an index over its member objects: a key function that raises fails as an index does.
- A collection is synced when every key of that first round has been reconciled. This starts again with each term of
  leadership: another leader may have changed what the entries of an earlier term were about.
- The watch event of our own status write enqueues nothing, if it arrives before the next reconcile.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, cast

from seamark_runtime.api.meta import Key, Object
from seamark_runtime.cache import Change, Index
from seamark_runtime.controller import CollectionController, Controller, Declaration, kinds
from seamark_runtime.request import Request
from seamark_runtime.source import SYNCED, Collection, Informer, Source
from seamark_runtime.view import Read, RecordedReads

SLICE = 1000  # requests that are enqueued without yielding to the event loop

Enqueue = Callable[[Request, float], None]  # a request, and the seconds after which it is due


class EventRouter:
    def __init__(
        self,
        controllers: Iterable[Declaration],
        informers: Mapping[type[Object], Informer[Any]],
        followers: Iterable[Source],
        enqueue: Enqueue,
        now: Callable[[], float],
    ) -> None:
        self.controllers = _by_name(tuple(controllers))
        self.reads = RecordedReads()
        self._informers = informers
        self._enqueue = enqueue
        self._now = now
        self._started: set[str] | None = None  # controllers whose sources have all synced; None while not leading
        self._first_round: dict[str, set[Key]] = {}  # collection → keys that were not reconciled since its start
        self._former: dict[str, list[Key]] = {}  # controller → keys of an earlier term: their objects may be gone
        self._own_writes: dict[Request, str] = {}  # the resourceVersion of our last status write
        self._pending: dict[Request, float] = {}  # since when an event waits for its status
        self._reconciled: dict[Request, float] = {}  # last reconcile, for controllers with a spacing
        self._collections = [
            controller for controller in self.controllers.values() if isinstance(controller, CollectionController)
        ]
        self._by_subject = self._collections_by_subject()
        self._members = {controller.name: self._key_indexes(controller) for controller in self._collections}
        self._controller_of = {index: name for name, indexes in self._members.items() for index in indexes}
        sources = dict.fromkeys(
            source for controller in self.controllers.values() for source in self._sources(controller)
        )
        for source in (*sources, *followers):
            source.subscribe(self._on_fact)
            if isinstance(source, Informer):
                source.on_change(self._on_object)

    def _collections_by_subject(self) -> dict[Collection[Any, Any], list[str]]:
        """Collection → the controllers for which each of its subjects is a key."""
        found: dict[Collection[Any, Any], list[str]] = {}
        for controller in self._collections:
            for collection in controller.subjects:
                found.setdefault(collection, []).append(controller.name)
        return found

    def _key_indexes(self, controller: CollectionController[Any]) -> list[Index[Any]]:
        """The keys of a collection by the member objects of each kind."""
        indexes = [Index(kind, keys, f"keys of {controller.name}") for kind, keys in controller.keyed.items()]
        for index in indexes:
            self._informers[index.kind].cache.add_index(index)
        return indexes

    # ---- terms of leadership

    def start(self) -> None:
        """A term of leadership begins."""
        self._started = set()
        self._first_round.clear()
        self._former.clear()
        for request in self.reads.requests():
            self._former.setdefault(request.controller, []).append(request.key)
        for controller in self._collections:
            for output in controller.outputs:
                output.collection.restart()
        self._start_synced()

    def stop(self) -> None:
        self._started = None

    @property
    def all_started(self) -> bool:
        return self._started is not None and len(self._started) == len(self.controllers)

    def is_started(self, request: Request) -> bool:
        return self._started is not None and request.controller in self._started

    def missing(self) -> dict[str, list[str]]:
        """Per controller that has not started: its sources that have not synced."""
        waiting = [c for c in self.controllers.values() if c.name not in (self._started or ())]
        return {c.name: [source.name for source in self._sources(c) if not source.synced] for c in waiting}

    # ---- requests

    def enqueue(self, request: Request) -> None:
        """Puts the request into the queue, not before the spacing of its controller has passed."""
        if not self.is_started(request):
            return
        now = self._now()
        self._pending.setdefault(request, now)
        spacing = self.controllers[request.controller].timing.spacing
        due = self._reconciled.get(request, float("-inf")) + spacing if spacing else now
        self._enqueue(request, due - now)

    def reconcile_starts(self, request: Request) -> None:
        """If this reconcile has not seen our last write, the event of that write is no longer ours alone."""
        self._own_writes.pop(request, None)
        if self.controllers[request.controller].timing.spacing:
            self._reconciled[request] = self._now()

    def reconcile_ended(self, request: Request) -> None:
        """The request was reconciled to the end, or has failed for so long that its collection goes on without it."""
        controller = self.controllers[request.controller]
        if isinstance(controller, CollectionController):
            self._end_first_round(controller, request.key)

    def status_written(self, request: Request, version: str) -> float | None:
        """This resourceVersion is our own write. Returns since when its event was pending."""
        self._own_writes[request] = version
        return self._pending.pop(request, None)

    def settled(self, request: Request) -> None:
        """Nothing is pending: the status is as the last event wants it."""
        self._pending.pop(request, None)

    def forget(self, request: Request, reads: Iterable[Read] = ()) -> None:
        """Nothing is to be done for a request until one of these reads changes."""
        self.reads.record(request, reads)
        self._own_writes.pop(request, None)
        self._pending.pop(request, None)
        self._reconciled.pop(request, None)

    # ---- collections

    def exists(self, request: Request, controller: CollectionController[Any]) -> bool:
        """Whether a collection has this key: by a member object, by declaration, or as a subject of another."""
        is_subject = any(collection.entries(request.key) for collection in controller.subjects)
        known = (self._informers[index.kind].cache.known(index) for index in self._members[controller.name])
        return any(request.key in keys for keys in known) or request.key in controller.always or is_subject

    def members(self, request: Request) -> Iterator[Object]:
        """The objects that belong to a collection's key."""
        for index in self._members[request.controller]:
            yield from self._informers[index.kind].cache.by(index, request.key)

    # ---- events

    def _on_object(self, informer: Informer[Any], change: Change[Any]) -> None:
        for controller in self.controllers.values():
            if isinstance(controller, Controller) and controller.kind is informer.kind:
                request = Request(controller.name, change.key)
                if not self._is_own_write(request, change):
                    self.enqueue(request)
        if change.of_intent:
            for index, keys in change.values:
                if (name := self._controller_of.get(index)) is not None:
                    for key in keys:
                        self.enqueue(Request(name, cast("Key", key)))

    def _on_fact(self, source: Source, token: Hashable) -> None:
        if token is SYNCED:
            self._start_synced()
            return
        for request in self.reads.readers(source, token):
            if not self._is_own_object(request, source, token):
                self.enqueue(request)
        if isinstance(token, Key) and isinstance(source, Collection):
            for name in self._by_subject.get(source, ()):
                self.enqueue(Request(name, token))

    def _is_own_write(self, request: Request, change: Change[Any]) -> bool:
        return change.after is not None and change.after.metadata.resource_version == self._own_writes.get(request)

    def _is_own_object(self, request: Request, source: Source, token: Hashable) -> bool:
        """Changes of the request's own object arrive by `_on_object`, which recognises our own writes."""
        controller = self.controllers[request.controller]
        if not isinstance(controller, Controller) or not isinstance(source, Informer):
            return False
        return token == request.key and source.kind is controller.kind

    # ---- start of controllers

    def _sources(self, controller: Declaration) -> list[Source]:
        subjects = controller.subjects if isinstance(controller, CollectionController) else ()
        competing = (controller.competing.facts,) if controller.competing is not None else ()
        return [
            *(self._informers[kind] for kind in kinds(controller)),
            *controller.reads.sources,
            *subjects,
            *competing,
        ]

    def _start_synced(self) -> None:
        if self._started is None:
            return
        for controller in self.controllers.values():
            if controller.name not in self._started and all(source.synced for source in self._sources(controller)):
                self._started.add(controller.name)
                self._enqueue_all(controller)

    def _enqueue_all(self, controller: Declaration) -> None:
        keys: dict[Any, None] = dict.fromkeys(self._former.pop(controller.name, ()))
        if isinstance(controller, Controller):
            keys.update(dict.fromkeys(obj.key for obj in self._informers[controller.kind].cache))
        else:
            for index in self._members[controller.name]:
                keys.update(dict.fromkeys(self._informers[index.kind].cache.known(index)))
            keys.update(dict.fromkeys(controller.always))
            subjects = (subject for collection in controller.subjects for subject in collection.subjects())
            keys.update(dict.fromkeys(subject for subject in subjects if isinstance(subject, Key)))
            self._first_round[controller.name] = set(keys)
            self._end_first_round(controller, None)
        self._enqueue_in_slices(deque(Request(controller.name, key) for key in keys))

    def _enqueue_in_slices(self, requests: deque[Request]) -> None:
        """Yields to the event loop between slices: thousands at once would delay sockets and timers."""
        for _ in range(min(SLICE, len(requests))):
            self.enqueue(requests.popleft())
        if requests:
            asyncio.get_running_loop().call_soon(self._enqueue_in_slices, requests)

    def _end_first_round(self, controller: CollectionController[Any], key: Key | None) -> None:
        waiting = self._first_round.get(controller.name)
        if waiting is None:
            return
        if key is not None:
            waiting.discard(key)
        if not waiting:
            del self._first_round[controller.name]
            for output in controller.outputs:
                output.collection.sync()


def _by_name(controllers: tuple[Declaration, ...]) -> dict[str, Declaration]:
    found = {controller.name: controller for controller in controllers}
    if len(found) < len(controllers):
        names = [controller.name for controller in controllers]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"several controllers are called {', '.join(twice)}: one would replace the other")
    return found
