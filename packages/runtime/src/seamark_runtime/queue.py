"""A queue of keys.

- A request is in the queue at most once, however often it is added, and never in two workers: added while a worker
  has it, it is requeued when that worker is done.
- A request can be added for later; only its earliest time counts. Backoff grows per request, with jitter, until
  success.
- Fair: controllers take turns, and within a controller namespaces take turns, so a tenant's ten thousand requests do
  not delay others.
- At most `each` requests of one namespace are in workers at once: their writes leave the API server time for others.
- Time and randomness are injected; all waiting is on the running event loop.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter, OrderedDict, deque
from random import Random
from typing import NamedTuple

from seamark_runtime.api.meta import Key
from seamark_runtime.backoff import Backoff

SPARE = 64  # outdated times that may stay in the heap: removing each at once would cost more


class Request(NamedTuple):
    controller: str
    key: Key

    def __str__(self) -> str:
        return f"{self.controller} {self.key}"


class _Turns:
    """Keys that are ready, in two rings of turns: kinds, then namespaces. Those of a blocked namespace wait beside."""

    def __init__(self) -> None:
        self._kinds: OrderedDict[str, OrderedDict[str, deque[Request]]] = OrderedDict()  # no deque is empty
        self._blocked: dict[str, dict[str, deque[Request]]] = {}  # namespaces that are in no ring, by kind
        self._count = 0  # keys in the rings

    def __len__(self) -> int:
        """How many keys may have a turn now."""
        return self._count

    def push(self, request: Request) -> None:
        namespace = request.key.namespace
        if (blocked := self._blocked.get(namespace)) is not None:
            blocked.setdefault(request.controller, deque()).append(request)
            return
        self._kinds.setdefault(request.controller, OrderedDict()).setdefault(namespace, deque()).append(request)
        self._count += 1

    def block(self, namespace: str) -> None:
        blocked = self._blocked[namespace] = {}
        for kind, namespaces in list(self._kinds.items()):
            if (items := namespaces.pop(namespace, None)) is not None:
                blocked[kind] = items
                self._count -= len(items)
            if not namespaces:
                del self._kinds[kind]

    def unblock(self, namespace: str) -> None:
        for kind, items in self._blocked.pop(namespace, {}).items():
            self._kinds.setdefault(kind, OrderedDict())[namespace] = items
            self._count += len(items)

    def pop(self) -> Request:
        kind, namespaces = next(iter(self._kinds.items()))
        namespace, items = next(iter(namespaces.items()))
        request = items.popleft()
        self._count -= 1
        if items:
            namespaces.move_to_end(namespace)
        else:
            del namespaces[namespace]
        if namespaces:
            self._kinds.move_to_end(kind)
        else:
            del self._kinds[kind]
        return request


class Queue:
    """`each`: how many keys of one namespace may be in workers at once. Keys without a namespace are not counted."""

    def __init__(
        self,
        random: Random,
        backoff: Backoff = Backoff(first=0.02, most=120.0),  # noqa: B008  frozen
        each: float = float("inf"),
    ) -> None:
        self._each = each
        self._busy: Counter[str] = Counter()  # of `_working`, by namespace
        self._random = random
        self._backoff = backoff
        self._failures: dict[Request, int] = {}
        self._turns = _Turns()
        self._waiting: set[Request] = set()  # in the queue, ready
        self._working: set[Request] = set()  # handed to a worker, not done
        self._again: set[Request] = set()  # added while in a worker
        self._later: dict[Request, float] = {}  # the earliest time a key is wanted
        self._not_before: dict[Request, float] = {}  # the server has asked to be left alone until then
        self._heap: list[tuple[float, int, Request]] = []
        self._sequence = 0  # keeps equal times in the order of their adding
        self._timer: asyncio.TimerHandle | None = None
        self._takers: deque[asyncio.Future[None]] = deque()
        self._worked_off = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Nothing ready and nothing in a worker; keys for later may exist."""
        return not self._waiting and not self._working

    def add(self, request: Request) -> None:
        held = self._not_before.get(request)
        if held is not None:
            if (wait := held - asyncio.get_running_loop().time()) > 0:
                self.add_after(request, wait)
                return
            del self._not_before[request]
        self._later.pop(request, None)
        if request in self._working:
            self._again.add(request)
        elif request not in self._waiting:
            self._waiting.add(request)
            self._turns.push(request)
            if self._turns:
                self._wake_one()

    def add_after(self, request: Request, delay: float) -> None:
        if delay <= 0:
            self.add(request)
            return
        if request in self._waiting:
            return  # it is reconciled before that, which decides when to requeue
        when = asyncio.get_running_loop().time() + delay
        if self._later.get(request, float("inf")) <= when:
            return
        self._later[request] = when
        self._sequence += 1
        heapq.heappush(self._heap, (when, self._sequence, request))
        if len(self._heap) > 2 * len(self._later) + SPARE:
            self._sweep()
        self._arm()

    def add_failed(self, request: Request, at_least: float = 0.0) -> None:
        """Again after its backoff. `at_least` is what the server asked for: nothing brings the key back before."""
        failures = self._failures.get(request, 0)
        self._failures[request] = failures + 1
        self.hold(request, at_least)
        self.add_after(request, max(at_least, self._backoff.pause(self._random, failures)))

    def hold(self, request: Request, seconds: float) -> None:
        """The server has asked to be left alone for so long: nothing brings the key back before."""
        if seconds > 0:
            self._not_before[request] = asyncio.get_running_loop().time() + seconds

    def succeeded(self, request: Request) -> None:
        self._failures.pop(request, None)

    def failures(self, request: Request) -> int:
        return self._failures.get(request, 0)

    def cancel(self, request: Request) -> None:
        """Forgets a later time; a key that is ready stays."""
        self._later.pop(request, None)

    async def take(self) -> Request:
        while not self._turns:
            taker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    self._wake_one()  # hand the turn on
                raise
        request = self._turns.pop()
        self._waiting.discard(request)
        self._working.add(request)
        self._count_in(request.key.namespace)
        return request

    def _count_in(self, namespace: str) -> None:
        if namespace:
            self._busy[namespace] += 1
            if self._busy[namespace] >= self._each:
                self._turns.block(namespace)

    def _count_out(self, namespace: str) -> None:
        if not namespace:
            return
        self._busy[namespace] -= 1
        if self._busy[namespace] + 1 >= self._each:
            self._turns.unblock(namespace)
            if self._turns:
                self._wake_one()
        if not self._busy[namespace]:
            del self._busy[namespace]

    async def worked_off(self) -> None:
        """Returns when no key is in a worker."""
        while self._working:
            self._worked_off.clear()
            await self._worked_off.wait()

    def done(self, request: Request) -> None:
        if request in self._working:
            self._working.discard(request)
            self._count_out(request.key.namespace)
        if not self._working:
            self._worked_off.set()
        if request in self._again:
            self._again.discard(request)
            self.add(request)

    def _wake_one(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _sweep(self) -> None:
        """Times that were superseded or cancelled would else be kept until they come, however far that is."""
        self._heap = [entry for entry in self._heap if self._later.get(entry[2]) == entry[0]]
        heapq.heapify(self._heap)
        now = asyncio.get_running_loop().time()
        self._not_before = {request: when for request, when in self._not_before.items() if when > now}

    def _arm(self) -> None:
        while self._heap and self._later.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)  # superseded or cancelled
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._heap:
            self._timer = asyncio.get_running_loop().call_at(self._heap[0][0], self._due)

    def _due(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._heap and self._heap[0][0] <= now:
            when, _, request = heapq.heappop(self._heap)
            if self._later.get(request) == when:
                del self._later[request]  # first: `add` may set it anew, for a key that is held
                self.add(request)
        self._timer = None
        self._arm()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
