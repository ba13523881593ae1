"""The base layer of the queue: requests that are ready, each once, each in one worker at a time.

- A request that is added again before a worker has taken it is handed out once.
- A request that is added while a worker has it is handed out again when that worker is done, never to a second one.
- At most `per_namespace` requests of one namespace are in workers at once; those without a namespace are not limited.
- A worker that is cancelled while it waits passes its turn on.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque

from seamark_runtime.fairness import FairOrder
from seamark_runtime.request import Request


class ReadyQueue:
    def __init__(self, per_namespace: float = float("inf")) -> None:
        self._per_namespace = per_namespace
        self._order = FairOrder()  # exactly the requests of `_ready`
        self._ready: set[Request] = set()  # not in `_working`
        self._working: set[Request] = set()  # taken, and not done
        self._added_again: set[Request] = set()  # a part of `_working`
        self._busy: Counter[str] = Counter()  # of `_working`, by namespace; a namespace at the limit is blocked
        self._takers: deque[asyncio.Future[None]] = deque()  # workers that wait; some may be cancelled
        self._all_done = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def idle(self) -> bool:
        """Nothing is ready and nothing is in a worker."""
        return not self._ready and not self._working

    def add(self, request: Request) -> None:
        if request in self._working:
            self._added_again.add(request)
        elif request not in self._ready:
            self._ready.add(request)
            self._order.push(request)
            if self._order:
                self._notify_taker()

    async def take(self) -> Request:
        while not self._order:
            taker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    self._notify_taker()
                raise
        request = self._order.pop()
        self._ready.discard(request)
        self._working.add(request)
        self._enter(request.key.namespace)
        return request

    def done(self, request: Request) -> None:
        if request in self._working:
            self._working.discard(request)
            self._leave(request.key.namespace)
        if not self._working:
            self._all_done.set()
        if request in self._added_again:
            self._added_again.discard(request)
            self.add(request)

    async def all_done(self) -> None:
        """Returns when no request is in a worker."""
        while self._working:
            self._all_done.clear()
            await self._all_done.wait()

    def _enter(self, namespace: str) -> None:
        if namespace:
            self._busy[namespace] += 1
            if self._busy[namespace] >= self._per_namespace:
                self._order.block(namespace)

    def _leave(self, namespace: str) -> None:
        if not namespace:
            return
        self._busy[namespace] -= 1
        if self._busy[namespace] + 1 >= self._per_namespace:
            self._order.unblock(namespace)
            if self._order:
                self._notify_taker()
        if not self._busy[namespace]:
            del self._busy[namespace]

    def _notify_taker(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return
