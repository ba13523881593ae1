"""A write of ours that the cache does not show in time: a live read decides what became of it."""

from __future__ import annotations

import asyncio

import structlog

from seamark.core.client import Client
from seamark.core.clock import Clock
from seamark.core.errors import Gone, SeamarkError
from seamark.core.expectations import Expectation, Expectations
from seamark.core.queue import Item, Queue
from seamark.core.watch import number

log = structlog.get_logger(__name__)


class Overdue:
    def __init__(self, client: Client, expectations: Expectations, queue: Queue, clock: Clock) -> None:
        self._client = client
        self._expectations = expectations
        self._queue = queue
        self._clock = clock
        self._reads: set[asyncio.Task[None]] = set()

    def look_into(self, item: Item) -> None:
        """The key waits for its writes. It comes again when the next of them is overdue, or all are seen."""
        now = self._clock.monotonic()
        for expectation in self._expectations.overdue(item, now):
            self._expectations.extend(expectation, now)
            if not expectation.informer.listing:
                task = asyncio.get_running_loop().create_task(self._decide(expectation))
                self._reads.add(task)
                task.add_done_callback(self._reads.discard)
        self._queue.add_after(item, self._expectations.patience(item, now))

    def stop(self) -> None:
        for task in self._reads:
            task.cancel()

    async def _decide(self, expectation: Expectation) -> None:
        """A live read decides: either the write is no more to be seen, or our watch is behind and lists again."""
        informer = expectation.informer
        try:
            live = await self._client.get(informer.kind, expectation.key)
        except Gone:
            self._expectations.release(expectation)
        except SeamarkError as error:
            log.info("can't look at what we wrote", kind=informer.name, error=error.message)
        else:
            shown = expectation.version and number(live.metadata.resource_version) >= expectation.version
            if informer.listing:
                pass  # somebody was quicker; to begin again and again would never end
            elif shown:
                log.warning("the watch is behind; listing again", kind=informer.name)
                informer.watch.restart()
            else:
                self._expectations.release(expectation)
