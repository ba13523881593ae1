"""What comes after a failure: Sieve's intermediate states, and the queue."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from seamark.families.sample.greeting.reconcile import POSTED_ON, desire
from seamark.families.sample.greeting.state import Retract, Seen
from seamark_runtime import difference as differences
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Object
from seamark_runtime.apply import Refusal
from seamark_runtime.calls import Calls, Failed, _Slot
from seamark_runtime.client import Client
from seamark_runtime.controller import Controller, Wanted
from seamark_runtime.delayingqueue import DelayingQueue
from seamark_runtime.difference import difference
from seamark_runtime.errors import Conflict, Gone, Retry, SeamarkError, Uncertain
from seamark_runtime.loop import Loop
from seamark_runtime.marks import missing_marks
from seamark_runtime.queue import Queue
from seamark_runtime.readyqueue import ReadyQueue
from seamark_runtime.reconciler import Reconciler
from seamark_runtime.request import Request
from seamark_runtime.view import View
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("intermediate state and retries")
T = TypeVar("T", bound=Object)


@BUGS.bug("made once, done for good", "the first write of a child counts as all that is to be done")
def made_once_done_for_good() -> None:
    def none(_wanted: Object, _live: Object) -> dict[str, Any]:
        return {}

    swap(difference, none)


@BUGS.bug("timeout counted as success", "a create without an answer counts as made", "sample/0/calm/1:HANG_BEFORE")
def timeout_counted_as_success() -> None:
    original = Client.create

    async def create(self: Client, obj: T) -> T:
        try:
            return await original(self, obj)
        except Uncertain:
            if not isinstance(obj, ConfigMap):
                raise
            return obj

    swap(Client.create, create)


def _with(seen: Seen, **metadata: Any) -> Seen:
    changed = msgspec.structs.replace(seen.greeting.metadata, **metadata)
    return replace(seen, greeting=msgspec.structs.replace(seen.greeting, metadata=changed))


@BUGS.bug(
    "edge-triggered cleanup",
    "only the process that has posted knows that something is to be retracted",
    "sample/0/calm/29:CRASH_BEFORE",
    "sample/0/calm/28:CRASH_AFTER",
)
def edge_triggered_cleanup() -> None:
    def forgetful(seen: Seen) -> Wanted:
        annotations = {k: v for k, v in (seen.greeting.metadata.annotations or {}).items() if k != POSTED_ON}
        return desire(seen if seen.results.answers else _with(seen, annotations=annotations))

    swap(desire, forgetful)


@BUGS.bug("old board forgotten", "a change of the board posts on the new one and leaves the old one as it is")
def old_board_forgotten() -> None:
    def without_retracting(seen: Seen) -> Wanted:
        wanted = desire(seen)
        retracts = any(isinstance(call.action, Retract) for call in wanted.calls)
        if seen.greeting.deleting or not retracts:
            return wanted
        moved = {**(seen.greeting.metadata.annotations or {}), POSTED_ON: seen.greeting.spec.board or ""}
        return desire(_with(seen, annotations=moved))

    swap(desire, without_retracting)


@BUGS.bug("effect before the finalizer", "a remote system is called before our finalizer was acknowledged")
def effect_before_the_finalizer() -> None:
    original = Reconciler._mark

    async def mark(
        self: Reconciler, request: Request, controller: Controller[Any], obj: Any, wanted: Wanted, *, lasting: bool
    ) -> tuple[Any, Refusal | None]:
        self._dependencies.calls.want(request, obj.uid, wanted.calls)
        if not obj.deleting and missing_marks(controller, obj, wanted):
            await asyncio.sleep(0.1)
        return await original(self, request, controller, obj, wanted, lasting=lasting)

    swap(Reconciler._mark, mark)


@BUGS.bug(
    "finalizer gone too early",
    "an object is released before its remote object was deleted",
    *(f"sample/0/calm/{place}:OUTSIDE_REFUSES" for place in (27, 28, 29)),
)
def finalizer_gone_too_early() -> None:
    def released(seen: Seen) -> Wanted:
        wanted = desire(seen)
        return replace(wanted, finalizer=False) if seen.greeting.deleting else wanted

    swap(desire, released)


@BUGS.bug("deletion not noticed", "an object that is being deleted is worked on as if it stayed")
def deletion_not_noticed() -> None:
    def as_if_it_stayed(seen: Seen) -> Wanted:
        return desire(_with(seen, deletion_timestamp=None))

    swap(desire, as_if_it_stayed)


@BUGS.bug("no retry", "after a failure a request waits for the next change", "sample/0/calm/1:ERROR")
def no_retry() -> None:
    _given_up(Retry)


@BUGS.bug(
    "conflict given up",
    "after a conflict there is no retry",
    *(f"sample/0/calm/{place}:CONFLICT" for place in (20, 24)),
)
def conflict_given_up() -> None:
    _given_up(Conflict, Gone)


def _given_up(*errors: type[SeamarkError]) -> None:
    original = Loop._react

    def react(self: Loop, request: Request, error: SeamarkError) -> str:
        if not isinstance(error, errors):
            return original(self, request, error)
        self._dependencies.queue.succeeded(request)
        return "given up"

    swap(Loop._react, react)


@BUGS.bug("refusal given up", "after a refusal of a child there is no retry", "sample/0/calm/1:QUOTA")
def refusal_given_up() -> None:
    original = Reconciler._requeue

    def requeue(self: Reconciler, request: Request, view: View, trouble: Retry | None, *, refused: bool) -> None:
        original(self, request, view, trouble, refused=False)

    swap(Reconciler._requeue, requeue)


@BUGS.bug("Retry-After ignored", "a server that asks for time is asked again at once", "sample/0/calm/1:THROTTLE")
def retry_after_ignored() -> None:
    original = Loop._react

    def react(self: Loop, request: Request, error: SeamarkError) -> str:
        return original(self, request, Retry(error.message) if isinstance(error, Retry) else error)

    swap(Loop._react, react)


@BUGS.bug(
    "Retry-After forgotten",
    "after a second error in the same reconcile the server's Retry-After does not count",
    "sample/0/calm/1:ERROR,2:ERROR,3:ERROR,4:THROTTLE,5:CONFLICT",
)
def retry_after_forgotten() -> None:
    def respect(_self: Reconciler, _request: Request, _trouble: Retry | None) -> None:
        pass

    swap(Reconciler._respect_retry_after, respect)


@BUGS.bug(
    "held request lost",
    "a request that is due while it is held is never requeued",
    "sample/0/calm/1:ERROR,2:ERROR,3:ERROR,4:THROTTLE,5:ERROR",
)
def held_request_lost() -> None:
    original = DelayingQueue.add

    def add(self: DelayingQueue, request: Request) -> None:
        if self._held_until.get(request, 0.0) <= asyncio.get_running_loop().time():
            original(self, request)

    swap(DelayingQueue.add, add)


@BUGS.bug("retry storm", "a failed request is tried again without a pause", "sample/0/calm/1:RBAC")
def retry_storm() -> None:
    def add_failed(self: Queue, request: Request, at_least: float = 0.0) -> None:
        self._failures[request] = self.failures(request) + 1
        self.hold(request, at_least)
        self.add_after(request, max(at_least, 0.001))

    swap(Queue.add_failed, add_failed)


@BUGS.bug("request lost in a worker", "a request that is added while it is reconciled is not requeued")
def request_lost_in_a_worker() -> None:
    original = ReadyQueue.add

    def add(self: ReadyQueue, request: Request) -> None:
        if request not in self._working:
            original(self, request)

    swap(ReadyQueue.add, add)


@BUGS.bug("call not tried again", "a remote call that failed is not repeated", "sample/0/calm/4:OUTSIDE_REFUSES")
def call_not_tried_again() -> None:
    def never(_self: Calls, _slot: _Slot, _failed: Failed) -> float:
        return float("inf")

    swap(Calls._pause, never)


@BUGS.bug("leftover keys", "what another writer added to a child's map stays")
def leftover_keys() -> None:
    original = differences._map

    def changed_only(want: dict[str, Any], have: dict[str, Any]) -> dict[str, Any]:
        return original(want, {key: value for key, value in have.items() if key in want})

    swap(differences._map, changed_only)
