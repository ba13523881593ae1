"""Acting on what is no longer so: Sieve's stale states and unobserved states."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping
from typing import Any

import msgspec

from seamark_runtime import watch as watches
from seamark_runtime.api.meta import Condition, Key, Object
from seamark_runtime.cache import Cache, Change, Index
from seamark_runtime.calls import Call, Calls, Failed, Results, _Answer
from seamark_runtime.conditions import UNKNOWN, Stamp
from seamark_runtime.controller import Controller, Declaration, Wanted
from seamark_runtime.errors import Expired, SeamarkError
from seamark_runtime.expectations import Expectation, Expectations
from seamark_runtime.reconciler import Reconciler
from seamark_runtime.request import Request
from seamark_runtime.router import EventRouter
from seamark_runtime.source import Fresh, NotYet, Stale
from seamark_runtime.stalecaches import StaleCaches
from seamark_runtime.statuswriter import StatusWriter, WriteResult
from seamark_runtime.transport import Stream
from seamark_runtime.view import View
from seamark_runtime.watch import Following, Watch
from seamark_runtime.watchevents import Event
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("stale or unobserved state")


@BUGS.bug("no expectations", "after a write the next reconcile reads a cache that lacks it", "sample/0/calm/3:LAG")
def no_expectations() -> None:
    def expect(_self: Expectations, _expectation: Expectation) -> None:
        pass

    swap(Expectations._expect, expect)


@BUGS.bug(
    "list without a look", "what a new list does not show of our writes is not looked for", "sample/0/calm/16:GONE"
)
def list_without_a_look() -> None:
    original = Expectations._meet

    def meet(self: Expectations, expectation: Expectation) -> None:
        expectation.lists = expectation.informer.listed
        original(self, expectation)

    swap(Expectations._meet, meet)


@BUGS.bug(
    "live generation on a cached result",
    "the status is judged from the cache and stamped with the generation that is live",
)
def live_generation_on_a_cached_result() -> None:
    original = StatusWriter.write

    async def write(
        self: StatusWriter, controller: Controller[Any], obj: Any, judged: Any, answers_due: float | None
    ) -> WriteResult:
        live = await self.client.get(type(obj), obj.key)
        return await original(self, controller, live, judged, answers_due)

    swap(StatusWriter.write, write)


@BUGS.bug(
    "resumes without a list",
    "a watch that was cut begins anew from now on, and never receives what was deleted meanwhile",
    "sample/0/calm/15:CUT",
    "sample/0/calm/14:CUT",
)
def resumes_without_a_list() -> None:
    original = Watch._interrupted

    async def interrupted(self: Watch[Any], error: SeamarkError, sink: Callable[[Event], None]) -> None:
        self.state = Following("")
        await original(self, error, sink)

    swap(Watch._interrupted, interrupted)


@BUGS.bug(
    "a stale cache",
    "after a long silence it is judged from one cache that has caught up and another that has not",
    "sample/0/calm/13:RESET_AFTER,14:HALF_OPEN",
)
def a_stale_cache() -> None:
    original = StaleCaches.park

    def park(self: StaleCaches, request: Request) -> bool:
        stale = next((informer for informer in self._read[request.controller] if informer.stale), None)
        return not (stale is not None and stale.trouble) and original(self, request)

    swap(StaleCaches.park, park)


@BUGS.bug("410 ignored", "a watch whose version is too old asks for it again and again", "sample/0/calm/5:GONE")
def gone_ignored() -> None:
    original = Watch._step

    async def step(self: Watch[Any], sink: Callable[[Event], None]) -> None:
        try:
            await original(self, sink)
        except Expired:
            await asyncio.sleep(self._pause())

    swap(Watch._step, step)


@BUGS.bug(
    "deleted objects stay",
    "a new list does not remove what is not in it",
    "sample/0/calm/28:RESTORE",
    "sample/0/calm/28:RESTORE_BUMPED",
    "sample/0/calm/11:RESTORE",
)
def deleted_objects_stay() -> None:
    def confirm(self: Cache[Any]) -> list[Change[Any]]:
        self._unconfirmed = None
        return []

    swap(Cache.confirm, confirm)


@BUGS.bug("half-open without end", "a connection without any byte is trusted", "sample/0/calm/5:HALF_OPEN")
def half_open_without_end() -> None:
    original = watches.lines

    def lines(stream: Stream, _idle: float) -> AsyncIterator[bytes]:
        return original(stream, 1e9)

    swap(watches.lines, lines)


@BUGS.bug("answer to another question", "what was confirmed for an older text counts for this one")
def answer_to_another_question() -> None:
    want = Calls.want

    def to(self: Results, call: Call[Any]) -> NotYet | Fresh[Any] | Stale[Any] | Failed:
        answer = self.answers.get(call.target)
        if answer is None:
            return NotYet()
        if isinstance(answer.outcome, Failed):
            return answer.outcome
        return Stale(answer.outcome) if answer.expires <= self.now else Fresh(answer.outcome, answer.expires)

    def keeping_answers(self: Calls, request: Request, uid: str, calls: Iterable[Call[Any]]) -> None:
        answers = {target: slot.answer for target, slot in self._slots.get(request, {}).items()}
        want(self, request, uid, calls)
        for target, slot in self._slots.get(request, {}).items():
            slot.answer = slot.answer or answers.get(target)

    swap(Results.to, to)
    swap(Calls.want, keeping_answers)


@BUGS.bug("shelf life ignored", "what was verified once is trusted without end", "unverified/0/calm/")
def shelf_life_ignored() -> None:
    def answer(call: Call[Any], outcome: Any, _expires: float) -> _Answer:
        return _Answer(call.action, outcome, float("inf"))

    swap(Results.answer, answer)


@BUGS.bug("no timer for old evidence", "no requeue at the time when evidence expires", "unverified/0/calm/")
def no_timer_for_old_evidence() -> None:
    def never(_self: Calls, _request: Request) -> float:
        return float("inf")

    swap(Calls.expiry, never)


@BUGS.bug(
    "old condition for a new generation",
    "without a response, what was written for the last generation is written for this one",
    "sample/0/calm/19:OUTSIDE_HANGS",
)
def old_condition_for_a_new_generation() -> None:
    original = Stamp._stamped

    def ours(_self: Stamp, before: Condition) -> bool:
        return before.status != UNKNOWN

    def stamped(
        self: Stamp, judged: Condition, before: Condition | None, stamped: Mapping[str, Condition]
    ) -> Condition:
        condition = original(self, judged, before, stamped)
        if condition is not before:
            return condition
        return msgspec.structs.replace(condition, observed_generation=self.generation)

    swap(Stamp._is_ours, ours)
    swap(Stamp._stamped, stamped)


@BUGS.bug("a restart withdraws", "what was verified before a restart is Unknown until it is verified again")
def a_restart_withdraws() -> None:
    def never(_self: Stamp, _before: Condition) -> bool:
        return False

    swap(Stamp._is_ours, never)


@BUGS.bug("dependency not recorded", "a change of what a reconcile has read does not requeue it")
def dependency_not_recorded() -> None:
    original = Reconciler._existing

    def existing(
        self: Reconciler, request: Request, controller: Declaration, owner: Object, wanted: Wanted, view: View
    ) -> list[Object]:
        reads = self._router.reads
        before = reads._reads.get(request, ())
        found = original(self, request, controller, owner, wanted, view)
        reads.record(request, before)
        return found

    swap(Reconciler._existing, existing)


@BUGS.bug("index not kept", "an index does not notice that an object has gone")
def index_not_kept() -> None:
    original = Cache._move

    def move(
        self: Cache[Any], index: Index[Any], key: Key, old: tuple[Hashable, ...], new: tuple[Hashable, ...]
    ) -> None:
        if new:
            original(self, index, key, old, new)

    swap(Cache._move, move)


@BUGS.bug("echo too wide", "every change of a status counts as our own")
def echo_too_wide() -> None:
    def own(_self: EventRouter, _request: Request, change: Change[Any]) -> bool:
        return change.after is not None and not change.of_intent

    swap(EventRouter._is_own_write, own)
