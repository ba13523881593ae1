"""Remote changes and probes: run beside the workers; their results are facts.

- A `Call` is data: which remote object (`target`), what to do (`action`), how often to verify, how long the result is
  valid. `desire` returns calls; no worker waits for one.
- A call respects the write deadline as a write does: nothing is sent after it (`fencing`), and a call in progress ends
  with it.
  While the Lease is renewed a call has its own timeout, so its error message is the same each time.
- One call at a time per target. A call in flight is never cut off because it is no longer wanted: it may have had
  its effect already; its answer is dropped and the target stays locked until it came.
- An answer belongs to the uid and the action it was requested for; `Results.to` has only answers to that very call.
- A failure is retried with backoff and jitter, or when the server says, within a minute in any case; `every` repeats it
  while all is well; the request is enqueued only when the answer changed.
- Calls with a `rate` share a limit: interval, shelf life and pauses stretch with their number (`callrates`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Generic, TypeVar

import structlog

from seamark_runtime.backoff import Backoff
from seamark_runtime.callrates import Pace, Paces, Rate
from seamark_runtime.client import NoWriteDeadline, WriteDeadline
from seamark_runtime.errors import Fenced, Retry, SeamarkError
from seamark_runtime.fencing import fenced
from seamark_runtime.request import Request
from seamark_runtime.source import Fresh, NotYet, Stale

V = TypeVar("V")

log = structlog.get_logger(__name__)

CHECK = 1.0  # seconds between two looks at a clock that the event loop's timers do not follow


@dataclass(frozen=True)
class Call(Generic[V]):
    target: str
    action: Any
    every: float = float("inf")
    shelf_life: float = float("inf")
    timeout: float = 10.0
    slowest: float = 60.0  # the longest pause before it is tried again after a failure
    rate: Rate | None = None  # the limit that it shares with others


@dataclass(frozen=True, slots=True)
class Failed:
    """The last attempt failed: the error of the party that refused."""

    message: str
    error: SeamarkError | None = field(default=None, compare=False)  # the same message again is no change


@dataclass(frozen=True, slots=True)
class _Answer:
    action: Any
    outcome: Any  # the value, or Failed
    expires: float


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A wanted call, for display: how many seconds ago it was asked for and answered, and how long the answer keeps.

    `pending`: for how many seconds the attempt under way has had no answer; None while there is none.
    """

    target: str
    since: float
    outcome: Any = field(default_factory=NotYet)
    age: float = 0.0
    keeps: float = float("inf")
    recurring: bool = False
    pending: float | None = None


@dataclass(frozen=True)
class Results:
    """The answers to a key's calls at one moment, ages resolved."""

    answers: Mapping[str, _Answer] = field(default_factory=dict)
    now: float = 0.0

    @staticmethod
    def answer(call: Call[Any], outcome: Any, expires: float) -> _Answer:
        """An answer to this call: a value, or `Failed`."""
        return _Answer(call.action, outcome, expires)

    def to(self, call: Call[V]) -> NotYet | Fresh[V] | Stale[V] | Failed:
        answer = self.answers.get(call.target)
        if answer is None or answer.action != call.action:
            return NotYet()
        if isinstance(answer.outcome, Failed):
            return answer.outcome
        if answer.expires <= self.now:
            return Stale(answer.outcome)
        return Fresh(answer.outcome, answer.expires)


@dataclass(eq=False, slots=True)
class _Slot:
    """One wanted call of one key."""

    call: Call[Any]
    uid: str
    since: float
    pace: Pace | None = None  # of its rate, while it is wanted
    answer: _Answer | None = None
    timer: asyncio.TimerHandle | None = None  # of its next repetition
    due: float = 0.0  # when that is
    at: float = 0.0  # when it was answered
    pending: float | None = None  # when the attempt under way began
    failures: int = 0
    dropped: bool = False

    @property
    def stretch(self) -> float:
        return self.pace.stretch if self.pace is not None else 1.0


@dataclass(eq=False, slots=True)
class _Turnstile:
    """A lock with the number of tasks that hold or wait for it, so that an unused one can be dropped."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class _Cut:
    """Ends what runs under a timeout at the Lease's deadline, unless that has moved on by then."""

    def __init__(self, limit: asyncio.Timeout, write_deadline: WriteDeadline) -> None:
        self._limit = limit
        self._write_deadline = write_deadline
        self._timer: asyncio.TimerHandle | None = None
        self._look()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        if (left := self._write_deadline.remaining()) <= 0:
            self._limit.reschedule(loop.time())
        elif left != float("inf"):
            self._timer = loop.call_later(min(left, CHECK), self._look)  # a suspended machine's timers are late

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class Calls:
    def __init__(
        self,
        random: Random,
        enqueue: Callable[[Request], None],
        now: Callable[[], float],
        write_deadline: WriteDeadline | None = None,
    ) -> None:
        self._write_deadline = write_deadline or NoWriteDeadline()
        self._enqueue = enqueue
        self._now = now
        self._random = random
        self._backoff = Backoff(first=0.5, most=60.0)
        self._slots: dict[Request, dict[str, _Slot]] = {}
        self._paces = Paces()
        self._locks: dict[str, _Turnstile] = {}
        self._performers: dict[str, Callable[[Any], Awaitable[Any]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def register(self, kind: str, perform: Callable[[Any], Awaitable[Any]]) -> None:
        self._performers[kind] = perform

    def want(self, request: Request, uid: str, calls: Iterable[Call[Any]]) -> None:
        """These calls and no others are wanted for this key."""
        before = self._slots.get(request, {})
        after: dict[str, _Slot] = {}
        for call in calls:
            slot = before.get(call.target)
            if slot is None or slot.call != call or slot.uid != uid:
                slot = self._start(request, _Slot(call, uid, self._now(), self._paces.join(call.rate, call.every)))
            after[call.target] = slot
        if after:
            self._slots[request] = after
        else:
            self._slots.pop(request, None)
        for target, slot in before.items():
            if after.get(target) is not slot:
                self._drop(slot)

    def results(self, request: Request, uid: str) -> Results:
        """The answers that were asked for an object of this uid: none for its namesake that is gone."""
        slots = self._slots.get(request, {})
        answers = {name: slot.answer for name, slot in slots.items() if slot.answer and slot.uid == uid}
        return Results(answers, self._now())

    def records(self, request: Request) -> list[CallRecord]:
        """The key's calls and what is known of them, for display."""
        now, found = self._now(), []
        for target, slot in self._slots.get(request, {}).items():
            answer, recurring = slot.answer, slot.call.every < float("inf")
            if answer is None:
                found.append(CallRecord(target, now - slot.since, recurring=recurring))
            else:
                age, keeps = now - slot.at, answer.expires - now
                pending = now - slot.pending if slot.pending is not None else None
                found.append(CallRecord(target, now - slot.since, answer.outcome, age, keeps, recurring, pending))
        return found

    def expiry(self, request: Request) -> float:
        """The earliest moment at which one of this key's answers goes stale."""
        now = self._now()
        times = (slot.answer.expires for slot in self._slots.get(request, {}).values() if slot.answer)
        return min((time for time in times if time > now), default=float("inf"))

    def waiting_since(self, request: Request, seen: Results) -> float | None:
        """Since when the key's oldest call that `seen` has no answer to is under way; None when it has them all."""
        slots = self._slots.get(request, {}).values()
        return min((slot.since for slot in slots if isinstance(seen.to(slot.call), NotYet)), default=None)

    def forget(self, request: Request) -> None:
        for slot in self._slots.pop(request, {}).values():
            self._drop(slot)

    async def stop(self) -> None:
        for request in list(self._slots):
            self.forget(request)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _drop(self, slot: _Slot) -> None:
        slot.dropped = True
        if slot.timer is not None:
            slot.timer.cancel()
        if slot.pace is not None and self._paces.leave(slot.pace):
            self._bring_forward(slot.pace)

    def _bring_forward(self, pace: Pace) -> None:
        """There are half as many calls of this pace as there were: their next repetitions are due earlier."""
        now = self._now()
        for request, slots in self._slots.items():
            for slot in slots.values():
                if slot.pace is pace and slot.timer is not None:
                    usual = slot.call.slowest if slot.failures else slot.call.every
                    if (due := max(now, slot.at + usual * pace.stretch)) < slot.due:
                        slot.timer.cancel()
                        self._repeat(request, slot, due - now)

    def _repeat(self, request: Request, slot: _Slot, pause: float) -> None:
        now = self._now()
        slot.due = now + pause
        if slot.pace is not None and not slot.failures:
            slot.due = slot.pace.reserve(slot.due)
        slot.timer = asyncio.get_running_loop().call_later(slot.due - now, self._start, request, slot)

    def _start(self, request: Request, slot: _Slot) -> _Slot:
        slot.timer = None
        task = asyncio.get_running_loop().create_task(self._run(request, slot), name=f"call {slot.call.target}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return slot

    async def _run(self, request: Request, slot: _Slot) -> None:
        call = slot.call
        turnstile = self._locks.setdefault(call.target, _Turnstile())
        turnstile.users += 1
        try:
            async with turnstile.lock:
                if slot.dropped:
                    return
                slot.pending = self._now()
                outcome = await self._perform(request.controller, call)
        finally:
            slot.pending = None
            turnstile.users -= 1
            if not turnstile.users:
                del self._locks[call.target]
        if not slot.dropped:
            self._answered(request, slot, outcome)

    async def _perform(self, kind: str, call: Call[Any]) -> Any:
        try:
            if self._write_deadline.remaining() <= 0:
                raise Fenced(f"{call.target} was not called: the lease is no longer ours")
            async with asyncio.timeout(call.timeout) as limit:
                cut = _Cut(limit, self._write_deadline)
                try:
                    with fenced(self._write_deadline):
                        return await self._performers[kind](call.action)
                finally:
                    cut.cancel()
        except TimeoutError:
            lost = self._write_deadline.remaining() <= 0
            return Failed("not the leader any more" if lost else f"no answer within {call.timeout:g} s")
        except Fenced as error:
            return Failed("not the leader any more", error)
        except SeamarkError as error:
            return Failed(error.message, error)
        except OSError as error:
            return Failed(error.strerror or str(error))
        except Exception:
            log.exception("a call failed: this is a bug in Seamark", target=call.target)
            return Failed("Seamark failed here; the operator's log says more")

    def _pause(self, slot: _Slot, failed: Failed) -> float:
        """Until the next try. A server that wants to be let alone is, up to our own longest pause."""
        pause = slot.stretch * min(self._backoff.pause(self._random, slot.failures), slot.call.slowest)
        after = failed.error.after if isinstance(failed.error, Retry) else None
        return max(pause, min(after, self._backoff.most)) if after is not None else pause

    def _answered(self, request: Request, slot: _Slot, outcome: Any) -> None:
        call, before = slot.call, slot.answer
        slot.at = self._now()
        expires = float("inf") if isinstance(outcome, Failed) else self._now() + slot.stretch * call.shelf_life
        slot.answer = Results.answer(call, outcome, expires)
        if isinstance(outcome, Failed):
            pause = self._pause(slot, outcome)
            slot.failures += 1
        else:
            slot.failures = 0
            pause = slot.stretch * call.every
        if pause != float("inf"):
            self._repeat(request, slot, pause)
        if before is None or before.outcome != outcome:
            self._enqueue(request)
