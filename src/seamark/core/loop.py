"""The loop: workers that take keys from the queue and give each a pass (`core.passes`).

- A key is worked on by one worker at a time, and not before its sources have synced (`core.waker`).
- A key waits outside of any worker while the cache is of the past (`core.behind`), or does not show what the key has
  written (`core.expectations`, `core.overdue`).
- A pass that fails concerns its key alone: it comes again at a backoff, and the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import structlog

from seamark.core.behind import Behind
from seamark.core.controller import Controller, kinds
from seamark.core.errors import Conflict, Fenced, Gone, Retry, SeamarkError, Terminal
from seamark.core.events import Notice
from seamark.core.overdue import Overdue
from seamark.core.passes import LASTING, Owners, Passes, Services
from seamark.core.queue import Item
from seamark.core.timeslice import TimeSlice
from seamark.core.waker import Declaration, Waker

log = structlog.get_logger(__name__)


class Loop:
    def __init__(self, services: Services, controllers: Iterable[Declaration], owners: Owners) -> None:
        self._services = services
        beside = (*services.followers.values(), services.reviews)
        self.waker = Waker(controllers, services.informers, beside, self._add)
        self._passes = Passes(services, self.waker, owners)
        self._overdue = Overdue(services.client, services.expectations, services.queue, services.clock)
        read = {name: map(services.informers.__getitem__, kinds(one)) for name, one in self.waker.controllers.items()}
        self._behind = Behind(read, self.waker.wake)
        self._slice = TimeSlice()
        self._draining = False
        for informer in services.informers.values():
            services.expectations.attach(informer)
        for controller in self.waker.controllers.values():
            if controller.perform is not None:
                services.calls.register(controller.name, controller.perform)

    @property
    def quiet(self) -> bool:
        """All controllers have started, and no key is ready or in a worker."""
        return self.waker.all_open and self._services.queue.idle

    async def run(self, workers: int) -> None:
        """Works until cancelled, then stops what it started. What is in the caches stays."""
        self._passes.start()
        self._draining = False
        self.waker.start()
        try:
            async with asyncio.TaskGroup() as group:
                for companion in dict.fromkeys(c for one in self.waker.controllers.values() for c in one.companions):
                    group.create_task(companion(), name="companion")
                for worker in range(workers):
                    group.create_task(self._work(), name=f"worker {worker}")
        finally:
            self.waker.stop()
            self._overdue.stop()
            await self._services.calls.stop()

    async def drain(self, grace: float) -> None:
        """Starts no new pass, and waits for those under way, for `grace` seconds at the most."""
        self._draining = True
        try:
            async with asyncio.timeout(grace):
                await self._services.queue.worked_off()
        except TimeoutError:
            log.warning("stopping with work under way")

    def _add(self, item: Item) -> None:
        self._services.queue.add_after(item, self._passes.woken(item))

    async def _work(self) -> None:
        queue, metrics, clock = self._services.queue, self._services.metrics, self._services.clock
        while True:
            await self._slice.turn()
            item = await queue.take()
            if self._draining:
                queue.done(item)
                return
            metrics.queue_depth.set(len(queue))
            began = clock.monotonic()
            try:
                outcome = await self._turn(item)
            finally:
                queue.done(item)
            metrics.reconcile_outcomes.labels(item.kind, outcome).inc()
            metrics.reconcile_seconds.labels(item.kind).observe(clock.monotonic() - began)

    async def _turn(self, item: Item) -> str:
        if self._behind.park(item):
            return "parked"
        if self._services.expectations.park(item):
            self._overdue.look_into(item)
            return "parked"
        self.waker.begins(item)
        try:
            await self._passes.run(item)
        except SeamarkError as error:
            if self._services.queue.failures(item) >= LASTING:
                self.waker.passed(item)  # the others of its family have waited for it long enough
            return self._react(item, error)
        except Exception:
            log.exception("a pass failed: this is a bug in Seamark", item=str(item))
            self._confess(item)
            self._services.queue.add_failed(item)
            self.waker.passed(item)
            return "crashed"
        self.waker.passed(item)
        return "retrying" if self._services.queue.failures(item) else "done"

    def _react(self, item: Item, error: SeamarkError) -> str:
        queue = self._services.queue
        match error:
            case Fenced():
                pass  # the next leader takes it from here
            case Retry(after=after):
                queue.add_failed(item, after or 0.0)
                log.info("will try again", item=str(item), error=error.message)
            case Conflict() | Gone():
                queue.add_failed(item)  # the cache is behind; what it missed is on its way
            case Terminal():
                log.warning("can't go on until it changes", item=str(item), error=error.message)
            case _:
                queue.add_failed(item)
                log.warning("refused", item=str(item), error=error.message)
        return type(error).__name__.lower()

    def _confess(self, item: Item) -> None:
        controller = self.waker.controllers[item.kind]
        if not isinstance(controller, Controller):
            return
        obj = self._services.informers[controller.kind].cache.get(item.key)
        if obj is not None:
            words = "Seamark failed on this object; its status may be out of date. The operator's log says more"
            self._services.events.notice(obj, Notice("InternalError", words))
