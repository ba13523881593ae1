"""A queue of keys.

- A key is in the queue at most once, however often it is added, and never in two workers: added while one works on
  it, it comes again when that one is done.
- A key can be added for later; only its earliest time counts. Backoff grows per key, with jitter, until it succeeds.
- Fair: kinds take turns, and within a kind namespaces take turns, so a tenant's ten thousand keys delay nobody.
- Time and randomness come from outside; all waiting is on the running loop.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import OrderedDict, deque
from random import Random
from typing import NamedTuple

from seamark.api.meta import Key
from seamark.core.backoff import Backoff

SPARE = 64  # times that count no more and are kept all the same: sweeping at each would cost more


class Item(NamedTuple):
    kind: str
    key: Key

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class _Turns:
    """Keys that are ready, in two rings of turns: kinds, then namespaces."""

    def __init__(self) -> None:
        self._kinds: OrderedDict[str, OrderedDict[str, deque[Item]]] = OrderedDict()

    def push(self, item: Item) -> None:
        namespaces = self._kinds.setdefault(item.kind, OrderedDict())
        namespaces.setdefault(item.key.namespace, deque()).append(item)

    def pop(self) -> Item:
        kind, namespaces = next(iter(self._kinds.items()))
        namespace, items = next(iter(namespaces.items()))
        item = items.popleft()
        if items:
            namespaces.move_to_end(namespace)
        else:
            del namespaces[namespace]
        if namespaces:
            self._kinds.move_to_end(kind)
        else:
            del self._kinds[kind]
        return item


class Queue:
    def __init__(self, random: Random, backoff: Backoff = Backoff(first=0.02, most=120.0)) -> None:  # noqa: B008  frozen
        self._random = random
        self._backoff = backoff
        self._failures: dict[Item, int] = {}
        self._turns = _Turns()
        self._waiting: set[Item] = set()  # in the queue, ready
        self._working: set[Item] = set()  # handed to a worker, not done
        self._again: set[Item] = set()  # added while in a worker
        self._later: dict[Item, float] = {}  # the earliest time a key is wanted
        self._not_before: dict[Item, float] = {}  # the server has asked to be left alone until then
        self._heap: list[tuple[float, int, Item]] = []
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

    def add(self, item: Item) -> None:
        held = self._not_before.get(item)
        if held is not None:
            if (wait := held - asyncio.get_running_loop().time()) > 0:
                self.add_after(item, wait)
                return
            del self._not_before[item]
        self._later.pop(item, None)
        if item in self._working:
            self._again.add(item)
        elif item not in self._waiting:
            self._waiting.add(item)
            self._turns.push(item)
            self._wake_one()

    def add_after(self, item: Item, delay: float) -> None:
        if delay <= 0:
            self.add(item)
            return
        if item in self._waiting:
            return  # it comes before that anyway, and its pass will say when to come again
        when = asyncio.get_running_loop().time() + delay
        if self._later.get(item, float("inf")) <= when:
            return
        self._later[item] = when
        self._sequence += 1
        heapq.heappush(self._heap, (when, self._sequence, item))
        if len(self._heap) > 2 * len(self._later) + SPARE:
            self._sweep()
        self._arm()

    def add_failed(self, item: Item, at_least: float = 0.0) -> None:
        """Again after its backoff. `at_least` is what the server asked for: nothing brings the key back before."""
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        self.hold(item, at_least)
        self.add_after(item, max(at_least, self._backoff.pause(self._random, failures)))

    def hold(self, item: Item, seconds: float) -> None:
        """The server has asked to be left alone for so long: nothing brings the key back before."""
        if seconds > 0:
            self._not_before[item] = asyncio.get_running_loop().time() + seconds

    def succeeded(self, item: Item) -> None:
        self._failures.pop(item, None)

    def failures(self, item: Item) -> int:
        return self._failures.get(item, 0)

    def cancel(self, item: Item) -> None:
        """Forgets a later time; a key that is ready stays."""
        self._later.pop(item, None)

    async def take(self) -> Item:
        while not self._waiting:
            taker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    self._wake_one()  # hand the turn on
                raise
        item = self._turns.pop()
        self._waiting.discard(item)
        self._working.add(item)
        return item

    async def worked_off(self) -> None:
        """Returns when no key is in a worker."""
        while self._working:
            self._worked_off.clear()
            await self._worked_off.wait()

    def done(self, item: Item) -> None:
        self._working.discard(item)
        if not self._working:
            self._worked_off.set()
        if item in self._again:
            self._again.discard(item)
            self.add(item)

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
        self._not_before = {item: when for item, when in self._not_before.items() if when > now}

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
            when, _, item = heapq.heappop(self._heap)
            if self._later.get(item) == when:
                del self._later[item]  # first: `add` may set it anew, for a key that is held
                self.add(item)
        self._timer = None
        self._arm()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
