"""How long the event loop of a process is held: all work on it, of any task or callback.

- Measured from inside of the loop: the CPU time of its thread from one look at the clock to the next. What runs between
  two looks (steps of tasks, callbacks, protocols, the garbage collector) kept timers and sockets waiting.
- CPU time and not elapsed time: a busy machine is not our work.
- The work of one `period` counts with it: the result is never too small, and too large by at most a period.
- Every process has the same gauge: operator, edge, agent, forwarder, console. `steps` tells which task it was.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog
from prometheus_client import CollectorRegistry, Gauge

log = structlog.get_logger(__name__)

LONG_SECONDS = 0.05


class LoopWatch:
    """`run` measures the loop that runs it, until it is cancelled."""

    def __init__(
        self, registry: CollectorRegistry, period: float = 0.01, now: Callable[[], float] = time.thread_time
    ) -> None:
        self._gauge = Gauge(
            "seamark_loop_longest_block_seconds",
            "The most CPU time between two polls of timers and sockets by the event loop, since the start",
            registry=registry,
        )
        self._period = period
        self._now = now
        self.seconds = 0.0  # the longest so far

    async def run(self) -> None:
        while True:
            began = self._now()
            await asyncio.sleep(self._period)
            self._note(self._now() - began)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.get_running_loop().create_task(self.run(), name="loop watch")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _note(self, seconds: float) -> None:
        if seconds > self.seconds:
            self.seconds = seconds
            self._gauge.set(seconds)
            if seconds > LONG_SECONDS:
                log.warning("the event loop was held", milliseconds=round(seconds * 1000))
