"""The event loop's time, shared fairly between the owners of work: authtokens, API keys, operators.

What one owner asks for (policies of its endpoints, binds, lists with filters) may cost milliseconds each, and thousands
of them may arrive at once. All of it runs through one queue:

- The owner that has had the least time is next. Owners that come back do not get what they left unused before.
- After `slice_seconds` of such work the loop looks at its sockets and timers before more of it runs.
- Work runs at once while no other work waits and the slice has time left; alone, an owner gets all the time.
- What is charged is elapsed time: to ask for the CPU time of a thread takes longer than most pieces of work.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from itertools import count
from types import coroutine
from typing import Any, TypeVar

from seamark_edge.edge.errors import Refusal

SLICE_SECONDS = 0.002
MOST_WAITING = 1000  # connections of one owner
LEAST_CHARGE = 20e-6  # seconds: to queue a piece of work costs as well
EXPECTED = 0.00025  # seconds that a step of a coroutine is charged in advance, until it is known what it took

T = TypeVar("T")


class _Owner:
    """Who work is done for."""

    __slots__ = ("expected", "queued", "used", "waiting")

    def __init__(self, used: float) -> None:
        self.used = used  # virtual seconds: comparable between owners, never less than the clock's when it queues
        self.expected = EXPECTED  # seconds of its next step; never less than that
        self.waiting: dict[Turn, None] = {}  # the oldest first
        self.queued = False  # True while it is in the heap, once


class Turn:
    """A piece of work that waits. `cancel` takes it out of the queue."""

    __slots__ = ("_owner", "start")

    def __init__(self, owner: _Owner, start: Callable[[], bool]) -> None:
        self._owner = owner
        self.start = start  # does a piece of it; True if that was the last one

    def cancel(self) -> None:
        self._owner.waiting.pop(self, None)


class FairShare:
    """Runs the work of many owners on one event loop.

    - `submit` is for iterators, each step of which is a piece of work, `paced` for coroutines: from one await that
      waits to the next. The order of one owner's work is kept, and what has begun is finished first.
    - A step runs when the loop wakes its task up. Several are woken up at once: as many as fit into a slice by what
      steps of their owner took before.
    """

    def __init__(
        self,
        slice_seconds: float = SLICE_SECONDS,
        most_waiting: int = MOST_WAITING,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._slice = slice_seconds
        self._most = most_waiting
        self._now = now
        self._worked = 0.0  # seconds since the loop last looked at its sockets; `_round` resets it
        self._scheduled = False  # True while `_round` will be called
        self._clock = 0.0  # virtual: the `used` of the owner that was served last
        self._owners: dict[str, _Owner] = {}  # owners that worked or waited since the queue was last empty
        self._heap: list[tuple[float, int, _Owner]] = []  # owners with `queued`, by what they had used when they queued
        self._number = count()

    def submit(self, owner: str, work: Iterator[None]) -> Turn | None:
        """Do the work at once (None), or go on later (its turn); a Refusal if too much of this owner's waits."""
        found = self._owner(owner)
        while self._free:
            if self._run(found, work):
                return None
        if len(found.waiting) >= self._most:
            raise Refusal(503, "too many connections wait for the policies of this endpoint's owner", status=503)
        return self._wait(found, lambda: self._run(found, work))

    @coroutine
    def paced(self, owner: str, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """The same work, each of its steps in the owner's turn. What is thrown into it does not wait for one."""
        thrown: BaseException | None = None
        while True:
            advance = 0.0
            if thrown is None and not self._free:
                try:
                    advance = yield from self._granted(self._owner(owner))
                except GeneratorExit:
                    work.close()
                    raise
                except BaseException as error:
                    thrown = error
            began = self._now()
            try:
                waits_for = work.send(None) if thrown is None else work.throw(thrown)
            except StopIteration as done:
                result: T = done.value
                return result
            finally:
                self._stepped(self._owner(owner), self._now() - began, advance)
            thrown = None
            try:
                yield waits_for
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # for the work, which awaits it
                thrown = error

    def waiting(self, owner: str) -> int:
        found = self._owners.get(owner)
        return len(found.waiting) if found else 0

    @property
    def _free(self) -> bool:
        return not self._heap and self._worked < self._slice

    def _owner(self, name: str) -> _Owner:
        found = self._owners.get(name)
        if found is None:
            found = self._owners[name] = _Owner(self._clock)
        return found

    def _granted(self, owner: _Owner) -> Generator[Any, Any, float]:
        """Wait for the owner's turn; what it was charged for the step in advance."""
        granted: asyncio.Future[float] = asyncio.get_running_loop().create_future()

        def grant() -> bool:
            if not granted.done():  # it may be cancelled, and its task not know yet
                self._charge(owner, owner.expected)
                granted.set_result(owner.expected)
            return True

        turn = self._wait(owner, grant)
        try:
            return (yield from granted)
        finally:
            turn.cancel()

    def _wait(self, owner: _Owner, start: Callable[[], bool]) -> Turn:
        turn = Turn(owner, start)
        owner.waiting[turn] = None
        owner.used = max(owner.used, self._clock)
        self._queue(owner)
        self._schedule()
        return turn

    def _queue(self, owner: _Owner) -> None:
        if not owner.queued:
            owner.queued = True
            heapq.heappush(self._heap, (owner.used, next(self._number), owner))

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._round)

    def _round(self) -> None:
        """The loop has looked at its sockets."""
        self._scheduled = False
        self._worked = 0.0
        try:
            self._serve()
        finally:
            if self._heap:
                self._schedule()
            else:  # no owner competes: all start equal again
                self._owners.clear()
                self._clock = 0.0

    def _serve(self) -> None:
        while self._heap and self._worked < self._slice:
            used, _, owner = heapq.heappop(self._heap)
            owner.queued = False
            if not owner.waiting:
                continue  # all of it was cancelled
            if used < owner.used:  # it worked since it was queued
                self._queue(owner)
                continue
            self._clock = max(self._clock, used)
            turn, done = next(iter(owner.waiting)), True
            try:
                done = turn.start()
            finally:
                if done:
                    owner.waiting.pop(turn, None)
                if owner.waiting:
                    self._queue(owner)

    def _run(self, owner: _Owner, work: Iterator[None]) -> bool:
        began = self._now()
        try:
            next(work)
        except StopIteration:
            return True
        else:
            return False
        finally:
            self._charge(owner, max(self._now() - began, LEAST_CHARGE))

    def _stepped(self, owner: _Owner, seconds: float, advance: float) -> None:
        seconds = max(seconds, LEAST_CHARGE)
        owner.expected = max((owner.expected + seconds) / 2, EXPECTED)
        self._charge(owner, seconds - advance)

    def _charge(self, owner: _Owner, seconds: float) -> None:
        owner.used += seconds
        self._worked = max(self._worked + seconds, 0.0)
        self._schedule()
