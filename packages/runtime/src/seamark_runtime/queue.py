"""The queue of requests, in layers that each add one property.

- `fairness`: controllers take turns, and within them namespaces.
- `readyqueue`: a request is handed out once, to one worker at a time.
- `delayingqueue`: a request can become ready later, or be held.
- here: the delay after a failure doubles until the next success, with jitter, per request.

Time is that of the running event loop, randomness is injected.
"""

from __future__ import annotations

from random import Random

from seamark_runtime.backoff import Backoff
from seamark_runtime.delayingqueue import DelayingQueue
from seamark_runtime.request import Request


class Queue(DelayingQueue):
    def __init__(
        self,
        random: Random,
        backoff: Backoff = Backoff(first=0.02, most=120.0),  # noqa: B008  frozen
        per_namespace: float = float("inf"),
    ) -> None:
        super().__init__(per_namespace)
        self._random = random
        self._backoff = backoff
        self._failures: dict[Request, int] = {}  # in a row, since the last success

    def add_failed(self, request: Request, at_least: float = 0.0) -> None:
        """Requeues after the backoff. `at_least`: the Retry-After of a server, which nothing shortens."""
        failures = self._failures.get(request, 0)
        self._failures[request] = failures + 1
        self.hold(request, at_least)
        self.add_after(request, max(at_least, self._backoff.pause(self._random, failures)))

    def succeeded(self, request: Request) -> None:
        self._failures.pop(request, None)

    def failures(self, request: Request) -> int:
        return self._failures.get(request, 0)
