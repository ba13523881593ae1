"""The requests to an edge: how many a minute, how many at once, and in which order between namespaces.

All tenants share one budget of requests and one pool of connections.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from seamark_runtime.clock import Clock, SystemClock
from seamark_runtime.errors import Retry

MAX_CONCURRENT = 8  # requests under way
MAX_CONCURRENT_PER_OWNER = MAX_CONCURRENT // 2  # of one owner: an edge may take its time with each


@dataclass(slots=True)
class RateLimiter:
    """A budget of requests: so many a minute, spread out once the first burst of a tenth is spent.

    - Owners take turns, so a first request waits for at most one of each other owner. "" is the operator itself.
    - At most `AT_ONCE` requests are under way, and `AT_ONCE_EACH` of one owner.
    - `turn` waits for the caller's turn; if that takes longer than `patience`, it raises `Retry` with the time. Nothing
      was sent then.
    """

    per_minute: int
    clock: Clock = field(default_factory=SystemClock)
    max_wait: float = 2.5  # three tries take less than the time of a call: who waits is answered, and not cut off
    _free_at: float = float("-inf")  # when the budget allows the next request
    _suspended: dict[str, Retry] = field(default_factory=dict)  # owners that the service asked to wait, with its error
    _suspended_until: dict[str, float] = field(default_factory=dict)  # the same owners
    _waiting: OrderedDict[str, deque[asyncio.Future[None]]] = field(default_factory=OrderedDict)  # no deque is empty
    _under_way: Counter[str] = field(default_factory=Counter)  # by owner; no count is zero
    _timer: asyncio.TimerHandle | None = None

    @contextlib.asynccontextmanager
    async def slot(self, owner: str = "") -> AsyncIterator[None]:
        """The caller's turn, and its request while it is under way."""
        await self._wait(owner)
        try:
            yield
        finally:
            self._end(owner)

    def suspend(self, error: Retry, owner: str = "") -> None:
        """The service has answered that an owner is over its limit: nothing is sent for it before `after`. "" means
        all."""
        until = self.clock.monotonic() + (error.after or 0.0)
        if not owner:
            self._free_at = max(self._free_at, until)
        elif until > self._suspended_until.get(owner, 0.0):
            self._suspended[owner], self._suspended_until[owner] = error, until

    async def _wait(self, owner: str) -> None:
        if (wait := self._expected(owner)) > self.max_wait:
            raise self._spent(owner, wait)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(waiter)
        self._dispatch()
        try:
            async with asyncio.timeout(self.max_wait + 60 / self.per_minute):
                await waiter
        except TimeoutError:
            self._give_up(owner, waiter)
            raise self._spent(owner, max(self._expected(owner), 1.0)) from None
        except asyncio.CancelledError:
            self._give_up(owner, waiter)
            raise

    def _give_up(self, owner: str, waiter: asyncio.Future[None]) -> None:
        if waiter.done() and not waiter.cancelled():  # its turn came at the same moment
            self._end(owner)
            return
        waiting = self._waiting.get(owner, deque())
        with contextlib.suppress(ValueError):  # it was skipped already
            waiting.remove(waiter)
        if not waiting:
            self._waiting.pop(owner, None)

    def _spent(self, owner: str, wait: float) -> Retry:
        if (error := self._suspended.get(owner)) is not None and self._suspended_until[owner] > self.clock.monotonic():
            return Retry(error.message, after=wait)
        return Retry(f"the budget of {self.per_minute} requests a minute is spent", after=wait)

    def _expected(self, owner: str) -> float:
        """Seconds until its turn, as far as the budget and the service's own limits go."""
        now = self.clock.monotonic()
        turns = len(self._waiting.get(owner, ())) * max(len(self._waiting), 1)
        return max(self._start(now) + turns * 60 / self.per_minute, self._suspended_until.get(owner, 0.0)) - now

    def _start(self, now: float) -> float:
        """When the budget allows the next request. Unused budget allows a burst."""
        return max(self._free_at, now - 60 / self.per_minute * max(1, self.per_minute // 10))

    def _dispatch(self) -> None:
        """Give turns to those who wait, as many as there may be now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting and self._under_way.total() < MAX_CONCURRENT:
            now = self.clock.monotonic()
            if (start := self._start(now)) > now:
                self._schedule(start - now)
                return
            if (owner := self._next(now)) is None:
                return
            if self._begin(owner):
                self._free_at = start + 60 / self.per_minute

    def _next(self, now: float) -> str | None:
        """The owner whose turn it is."""
        suspended: list[float] = []
        for owner in self._waiting:
            if (until := self._suspended_until.get(owner, 0.0)) > now:
                suspended.append(until)
            elif not owner or self._under_way[owner] < MAX_CONCURRENT_PER_OWNER:
                self._suspended.pop(owner, None)
                self._suspended_until.pop(owner, None)
                return owner
        if suspended:
            self._schedule(min(suspended) - now)
        return None

    def _begin(self, owner: str) -> bool:
        """Starts the owner's first request; False if its caller has gone."""
        waiting = self._waiting[owner]
        waiter = waiting.popleft()
        if waiting:
            self._waiting.move_to_end(owner)
        else:
            del self._waiting[owner]
        if waiter.done():
            return False
        self._under_way[owner] += 1
        waiter.set_result(None)
        return True

    def _end(self, owner: str) -> None:
        self._under_way[owner] -= 1
        if not self._under_way[owner]:
            del self._under_way[owner]
        self._dispatch()

    def _schedule(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._dispatch)
