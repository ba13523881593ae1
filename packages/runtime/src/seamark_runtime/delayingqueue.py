"""The second layer of the queue: requests that become ready later.

- Of several delays of a request the earliest counts. A request that is ready needs none: its reconcile decides when to
  requeue. `add` cancels a delay.
- A request that is held becomes ready when the hold has ended and not before, however it is added.
- Time is that of the running event loop.
"""

from __future__ import annotations

import asyncio
import heapq

from seamark_runtime.readyqueue import ReadyQueue
from seamark_runtime.request import Request

SPARE = 64  # outdated entries that may stay in the heap: removing each at once would cost more


class DelayingQueue(ReadyQueue):
    def __init__(self, per_namespace: float = float("inf")) -> None:
        super().__init__(per_namespace)
        self._due_at: dict[Request, float] = {}  # the earliest time at which a request becomes ready; none is ready
        self._held_until: dict[Request, float] = {}  # entries that have passed are removed now and then
        self._heap: list[tuple[float, int, Request]] = []  # has every entry of `_due_at`, and outdated ones
        self._sequence = 0  # keeps equal times in the order in which they were added
        self._timer: asyncio.TimerHandle | None = None  # for the first entry of the heap

    def add(self, request: Request) -> None:
        held_until = self._held_until.get(request)
        if held_until is not None:
            if (delay := held_until - asyncio.get_running_loop().time()) > 0:
                self.add_after(request, delay)
                return
            del self._held_until[request]
        self._due_at.pop(request, None)
        super().add(request)

    def add_after(self, request: Request, delay: float) -> None:
        if delay <= 0:
            self.add(request)
            return
        if request in self._ready:
            return
        due_at = asyncio.get_running_loop().time() + delay
        if self._due_at.get(request, float("inf")) <= due_at:
            return
        self._due_at[request] = due_at
        self._sequence += 1
        heapq.heappush(self._heap, (due_at, self._sequence, request))
        if len(self._heap) > 2 * len(self._due_at) + SPARE:
            self._remove_outdated()
        self._set_timer()

    def hold(self, request: Request, seconds: float) -> None:
        """Keeps a request from becoming ready for this long: a server has sent Retry-After."""
        if seconds > 0:
            self._held_until[request] = asyncio.get_running_loop().time() + seconds

    def cancel(self, request: Request) -> None:
        """Cancels a delay; a request that is ready stays."""
        self._due_at.pop(request, None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _remove_outdated(self) -> None:
        self._heap = [entry for entry in self._heap if self._due_at.get(entry[2]) == entry[0]]
        heapq.heapify(self._heap)
        now = asyncio.get_running_loop().time()
        self._held_until = {request: until for request, until in self._held_until.items() if until > now}

    def _set_timer(self) -> None:
        while self._heap and self._due_at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)  # replaced by an earlier time, or cancelled
        self.close()
        if self._heap:
            self._timer = asyncio.get_running_loop().call_at(self._heap[0][0], self._on_timer)

    def _on_timer(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._heap and self._heap[0][0] <= now:
            due_at, _, request = heapq.heappop(self._heap)
            if self._due_at.get(request) == due_at:
                del self._due_at[request]  # before `add`, which may set it anew
                self.add(request)
        self._timer = None
        self._set_timer()
