"""The loop: workers that take requests from the queue and reconcile them (`reconciler`).

- A request is reconciled by one worker at a time, and not before its sources have synced (`router`).
- A request waits outside any worker while a cache that it reads is stale (`stalecaches`), or does not show yet what
  the request has written (`expectations`, `overdue`).
- A reconcile that fails concerns its request alone: it is requeued after a backoff, and the others go on (`failures`).
- Companions run as long as a term of leadership. Lasting ones begin with the first term and go on while no process
  leads; they end when another process leads, and with this process.
"""

from __future__ import annotations

import asyncio
from itertools import chain, count, islice
from random import Random

import structlog

from seamark_runtime.api.meta import Object
from seamark_runtime.backoff import Backoff
from seamark_runtime.controller import CollectionController, Companion, Controller, kinds
from seamark_runtime.errors import Conflict, Fenced, Gone, Retry, SeamarkError, Terminal, UserError
from seamark_runtime.events import Notice
from seamark_runtime.failures import COMPANION, RECONCILE, Failure, described
from seamark_runtime.leader import Leader
from seamark_runtime.overdue import Overdue
from seamark_runtime.reconciler import LASTING, Dependencies, Owners, Reconciler
from seamark_runtime.request import Request
from seamark_runtime.router import EventRouter
from seamark_runtime.stalecaches import StaleCaches
from seamark_runtime.steps import LongestStep, measured
from seamark_runtime.timeslice import TimeSlice

log = structlog.get_logger(__name__)

MOST_EVENTS = 100  # objects of a collection that get an event when it fails


class Loop:
    def __init__(self, dependencies: Dependencies, router: EventRouter, owners: Owners) -> None:
        self.router = router
        self._dependencies = dependencies
        self._reconciler = Reconciler(dependencies, router, owners)
        self._overdue = Overdue(dependencies.client, dependencies.expectations, dependencies.queue, dependencies.clock)
        informers = dependencies.informers
        read = {
            name: [informers[kind] for kind in kinds(controller)] for name, controller in router.controllers.items()
        }
        self._stale_caches = StaleCaches(read, router.enqueue)
        self._slice = TimeSlice()
        self._draining = False
        for informer in informers.values():
            dependencies.expectations.attach(informer)
        for controller in router.controllers.values():
            if controller.perform is not None:
                dependencies.calls.register(controller.name, controller.perform)

    @property
    def quiet(self) -> bool:
        """All controllers have started, and no request is ready or in a worker."""
        return self.router.all_started and self._dependencies.queue.idle

    async def run(self, workers: int, longest: LongestStep) -> None:
        """Reconciles until cancelled, then stops what it started. The caches stay."""
        dependencies = self._dependencies
        dependencies.failures.lead(
            failure for informer in dependencies.informers.values() for failure in informer.failures()
        )
        self._reconciler.start()
        self._draining = False
        self.router.start()
        try:
            async with asyncio.TaskGroup() as group:
                self._accompany(group, lasting=False)
                for worker in range(workers):
                    group.create_task(measured(self._work(f"worker {worker}"), longest))
        finally:
            dependencies.failures.follow()
            self.router.stop()
            self._overdue.stop()
            await self._dependencies.calls.stop()

    async def run_lasting(self, leader: Leader | None) -> None:
        """Runs the lasting companions until cancelled: from the first term on, except while another process leads."""
        while True:
            if leader is not None:
                await leader.gained()
            async with asyncio.TaskGroup() as group:
                tasks = self._accompany(group, lasting=True)
                await (leader.replaced() if leader is not None else asyncio.Event().wait())
                for task in tasks:
                    task.cancel()

    def _accompany(self, group: asyncio.TaskGroup, *, lasting: bool) -> list[asyncio.Task[None]]:
        """Those of all controllers, each once."""
        declared = chain.from_iterable(controller.companions for controller in self.router.controllers.values())
        companions = dict.fromkeys(companion for companion in declared if companion.lasting is lasting)
        return [group.create_task(self._accompanied(companion), name="companion") for companion in companions]

    async def _accompanied(self, companion: Companion) -> None:
        """Runs a companion, and again after a failure: it serves all objects, and ends none of the other tasks."""
        backoff, random = Backoff(first=0.5, most=30.0), Random(self._dependencies.client.manager)
        for failures in count():
            try:
                await companion.run()
            except UserError:
                raise  # a mistake in the configuration: the operator ends with that message
            except Exception as error:
                log.exception("a companion failed and is started again: this is a bug in Seamark")
                self._dependencies.failures.report(Failure(COMPANION, "operator", message=described(error)))
            else:
                return
            await asyncio.sleep(backoff.pause(random, failures))

    async def drain(self, grace: float) -> None:
        """Starts no further reconcile, and waits for those in progress, for at most `grace` seconds."""
        self._draining = True
        try:
            async with asyncio.timeout(grace):
                await self._dependencies.queue.all_done()
        except TimeoutError:
            log.warning("stopping with reconciles in progress")

    async def _work(self, name: str) -> None:
        queue, metrics, clock = self._dependencies.queue, self._dependencies.metrics, self._dependencies.clock
        task = asyncio.current_task()
        assert task is not None
        while True:
            await self._slice.turn()
            request = await queue.take()
            if self._draining:
                queue.done(request)
                return
            metrics.queue_depth.set(len(queue))
            task.set_name(f"{name}: {request}")
            began = clock.monotonic()
            try:
                outcome = await self._process(request)
            finally:
                queue.done(request)
            metrics.reconcile_outcomes.labels(request.controller, outcome).inc()
            metrics.reconcile_seconds.labels(request.controller).observe(clock.monotonic() - began)

    async def _process(self, request: Request) -> str:
        if not self.router.is_started(request):
            return "parked"  # of an earlier term: it is enqueued when its sources have synced
        if self._stale_caches.park(request):
            return "parked"
        if self._dependencies.expectations.park(request):
            self._overdue.look_into(request)
            return "parked"
        self.router.reconcile_starts(request)
        try:
            await self._reconciler.reconcile(request)
        except SeamarkError as error:
            if self._dependencies.queue.failures(request) >= LASTING:
                self.router.reconcile_ended(request)  # its collection has waited for it long enough
            return self._react(request, error)
        except Exception:
            log.exception("reconcile failed: this is a bug in Seamark", request=str(request))
            if not self._dependencies.queue.failures(request):  # a failure that repeats is reported once
                for failure in self._failures(request):
                    self._dependencies.failures.report(failure)
            self._dependencies.queue.add_failed(request)
            self.router.reconcile_ended(request)
            return "crashed"
        self.router.reconcile_ended(request)
        return "retrying" if self._dependencies.queue.failures(request) else "done"

    def _react(self, request: Request, error: SeamarkError) -> str:
        queue = self._dependencies.queue
        match error:
            case Fenced():
                pass  # the next leader goes on
            case Retry(after=after):
                queue.add_failed(request, after or 0.0)
                log.info("requeued after a transient error", request=str(request), error=error.message)
            case Conflict() | Gone():
                queue.add_failed(request)  # the cache is stale: the event is on its way
            case Terminal():
                log.warning("terminal error; waiting for a spec change", request=str(request), error=error.message)
            case _:
                queue.add_failed(request)
                log.warning("refused", request=str(request), error=error.message)
                self._record_event(request, Notice("Refused", error.message))
        return type(error).__name__.lower()

    def _failures(self, request: Request) -> list[Failure]:
        """One for each object of the request; one for the controller if there is none."""
        if isinstance(self.router.controllers[request.controller], CollectionController):
            objects = list(islice(self.router.members(request), MOST_EVENTS))
        else:
            objects = [obj for obj in (self._object(request),) if obj is not None]
        found = [Failure(RECONCILE, obj.RESOURCE, obj.metadata) for obj in objects]
        return found or [Failure(RECONCILE, request.controller, message=str(request.key))]

    def _record_event(self, request: Request, notice: Notice) -> None:
        obj = self._object(request)
        if obj is not None:
            self._dependencies.events.notice(obj, notice)

    def _object(self, request: Request) -> Object | None:
        """The object of the request, if it has one and it exists."""
        controller = self.router.controllers[request.controller]
        if not isinstance(controller, Controller):
            return None
        found: Object | None = self._dependencies.informers[controller.kind].cache.get(request.key)
        return found
