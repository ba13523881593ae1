"""A write of ours that the cache does not show in time: a live read decides."""

from __future__ import annotations

import asyncio

import structlog

from seamark_runtime.client import Client
from seamark_runtime.clock import Clock
from seamark_runtime.errors import Gone, SeamarkError
from seamark_runtime.expectations import Expectation, Expectations
from seamark_runtime.queue import Queue
from seamark_runtime.request import Request
from seamark_runtime.watch import number

log = structlog.get_logger(__name__)


class Overdue:
    def __init__(self, client: Client, expectations: Expectations, queue: Queue, clock: Clock) -> None:
        self._client = client
        self._expectations = expectations
        self._queue = queue
        self._clock = clock
        self._reads: set[asyncio.Task[None]] = set()

    def look_into(self, request: Request) -> None:
        """The request waits for its writes. It is requeued when the next of them is overdue, or all are visible."""
        now = self._clock.monotonic()
        for expectation in self._expectations.overdue(request, now):
            self._expectations.extend(expectation, now)
            if not expectation.informer.listing:
                task = asyncio.get_running_loop().create_task(self._decide(expectation))
                self._reads.add(task)
                task.add_done_callback(self._reads.discard)
        self._queue.add_after(request, self._expectations.patience(request, now))

    def stop(self) -> None:
        for task in self._reads:
            task.cancel()

    async def _decide(self, expectation: Expectation) -> None:
        """Either the write can't become visible any more, or our watch is stale and lists again."""
        informer = expectation.informer
        try:
            live = await self._client.get(informer.kind, expectation.key)
        except Gone:
            self._expectations.release(expectation)
        except SeamarkError as error:
            log.info("can't read what we wrote", kind=informer.name, error=error.message)
        else:
            shown = expectation.version and number(live.metadata.resource_version) >= expectation.version
            if informer.listing:
                pass  # a list is in progress already; restarting it each time would never end
            elif shown:
                log.warning("the watch is stale; listing again", kind=informer.name)
                informer.watch.restart()
            else:
                self._expectations.release(expectation)
