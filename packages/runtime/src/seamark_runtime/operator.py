"""The operator: informers, queue, workers, events and leader election, built from what the families declare.

- Caches are warm on every replica; only the leader reconciles. Losing the lease stops the workers at once, and nothing
  is sent after its write deadline; getting it back starts them again, without a restart of the process.
- What serves clients for the leader (lasting companions) goes on while no process leads, and ends before the lease is
  released.
- Stopping lets reconciles in progress end, releases the lease, and closes what was opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Any

import structlog

from seamark_runtime.access import AccessReviews
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.cache import Index
from seamark_runtime.calls import Calls
from seamark_runtime.client import Client
from seamark_runtime.clock import SuspendAwareClock
from seamark_runtime.controller import Controller, Declaration, children, kinds, scope
from seamark_runtime.events import Events
from seamark_runtime.expectations import Expectations
from seamark_runtime.failures import Failures
from seamark_runtime.follow import Follower
from seamark_runtime.leader import Leader, LeaseSettings
from seamark_runtime.loop import Loop
from seamark_runtime.metrics import Metrics, watch_lag
from seamark_runtime.queue import Queue
from seamark_runtime.reconciler import Dependencies
from seamark_runtime.router import EventRouter
from seamark_runtime.scope import widest
from seamark_runtime.settings import Settings
from seamark_runtime.source import Informer
from seamark_runtime.steps import LongestStep, measured
from seamark_runtime.transport import Transport
from seamark_runtime.watch import Watch, WatchSettings

log = structlog.get_logger(__name__)

LEAST_EACH = 16  # keys of one namespace that are worked on at once, if there are so many workers
MANAGER = "seamark"
TASKS = WATCH, WORKER, EVENTS, LEADER = "watch", "worker", "events", "leader"


@dataclass(frozen=True)
class World:
    """What is injected: the transport to the API server, time, randomness, and the identity of this process."""

    transport: Transport
    clock: SuspendAwareClock
    random: Random
    identity: str = "seamark"


class Operator:
    def __init__(self, world: World, controllers: Iterable[Declaration], settings: Settings) -> None:
        controllers = tuple(controllers)
        self.settings = settings
        self.world = world
        self.metrics = Metrics()
        for collector in dict.fromkeys(chain.from_iterable(controller.collectors for controller in controllers)):
            self.metrics.registry.register(collector)
        self.leader = self._leader() if settings.leader_election else None
        client = Client(world.transport, manager=MANAGER, write_deadline=self.leader, timeout=settings.request_timeout)
        owners = {
            (c.name, kind): Index(kind, children(c).index(), f"owner in {c.name}")
            for c in controllers
            for kind in c.writes.children
        }
        self.informers = {kind: self._informer(client, kind, controllers, owners) for kind in _all_kinds(controllers)}
        self.followers = {
            kind: self._follower(client, kind) for c in controllers for kind in (*c.reads.singles, *c.writes.kept)
        }
        self.reviews = AccessReviews(client, world.clock, world.random)
        self.queue = Queue(world.random, per_namespace=max(LEAST_EACH, settings.workers // 4))
        beside = (*self.followers.values(), self.reviews)
        router = EventRouter(controllers, self.informers, beside, self.queue.add_after, world.clock.monotonic)
        self.calls = Calls(world.random, router.enqueue, world.clock.monotonic, self.leader)
        self.events = Events(client, world.clock, self.metrics, world.identity)
        self.failures = Failures(self.metrics, self.events)
        for source in (*self.informers.values(), *self.followers.values(), self.reviews):
            source.on_failure = self.failures.report
        dependencies = Dependencies(
            client=client,
            informers=self.informers,
            followers=self.followers,
            reviews=self.reviews,
            queue=self.queue,
            calls=self.calls,
            expectations=Expectations(router.enqueue),
            events=self.events,
            metrics=self.metrics,
            failures=self.failures,
            clock=world.clock,
        )
        self._longest = {task: LongestStep(self.metrics.longest_step.labels(task)) for task in TASKS}
        self.loop = Loop(dependencies, router, owners)

    def _leader(self) -> Leader:
        settings = self.settings
        duration = settings.lease_duration
        families = ",".join(settings.families)
        lease = LeaseSettings(duration=duration, renew=duration / 3, margin=duration / 5, families=families)
        client = Client(self.world.transport, manager=MANAGER, timeout=settings.request_timeout)
        return Leader(client, Key(settings.namespace, settings.lease), self.world.identity, self.world.clock, lease)

    def _informer(
        self,
        client: Client,
        kind: type[Object],
        controllers: Iterable[Declaration],
        owners: dict[tuple[str, type[Object]], Index[Any]],
    ) -> Informer[Any]:
        declared = [index for controller in controllers for index in controller.reads.indexes if index.kind is kind]
        indexes = tuple(dict.fromkeys([*declared, *(owners[pair] for pair in owners if pair[1] is kind)]))
        optional = not any(
            kind in kinds(controller) and kind not in controller.reads.optional for controller in controllers
        )
        watching = WatchSettings(idle=self.settings.watch_idle, lifetime=self.settings.watch_lifetime)
        followed = widest(scope(controller, kind) for controller in controllers if kind in kinds(controller))
        watch = Watch(client, kind, self.world.random, followed.namespace, followed.selectors, watching)
        informer = Informer(watch, indexes, optional=optional)
        informer.finalizers = _finalizers(controllers, kind)
        return informer

    def _follower(self, client: Client, kind: type[Object]) -> Follower[Any]:
        return Follower(client, kind, self.world.random, self.settings.single_reads)

    def missing(self) -> list[str]:
        """Why the operator is not ready: a message for each reason."""
        troubles = [informer.trouble for informer in self.informers.values() if informer.trouble]
        waiting = [f"waiting for {informer.name}" for informer in self.informers.values() if not informer.synced]
        return troubles or waiting

    @property
    def quiet(self) -> bool:
        return self.loop.quiet

    async def run(self) -> None:
        """Runs until cancelled, then stops in order."""
        async with asyncio.TaskGroup() as group:
            lasting = group.create_task(self.loop.run_lasting(self.leader), name="lasting companions")
            beside = [
                *(self._start(group, WATCH, i.watch.run(i.handle), i.name) for i in self.informers.values()),
                self._start(group, EVENTS, self.events.run()),
            ]
            if self.leader is not None:
                beside.append(self._start(group, LEADER, self.leader.run()))
            try:
                await self._lead()
            finally:
                lasting.cancel()
                await asyncio.wait((lasting,))
                for task in beside:
                    task.cancel()
                for follower in self.followers.values():
                    await follower.stop()
                await self.reviews.stop()
                if self.leader is not None:
                    await self.leader.release()
                self.queue.close()

    def _start(
        self, group: asyncio.TaskGroup, task: str, work: Coroutine[Any, Any, None], of: str = ""
    ) -> asyncio.Task[None]:
        return group.create_task(measured(work, self._longest[task]), name=f"{task} {of}".strip())

    async def _lead(self) -> None:
        while True:
            if self.leader is not None:
                await self.leader.gained()
                log.info("leading", identity=self.world.identity)
            self.metrics.leading.set(1)
            work = asyncio.get_running_loop().create_task(self.loop.run(self.settings.workers, self._longest[WORKER]))
            try:
                await self._until_lost(work)
            except asyncio.CancelledError:
                await self.loop.drain(self.settings.stop_grace)
                raise
            finally:
                self.metrics.leading.set(0)
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
            log.warning("lease lost; standing by", identity=self.world.identity)

    async def _until_lost(self, work: asyncio.Task[None]) -> None:
        """Returns when the lease is lost; raises what the loop raised. A cancellation leaves the loop running."""
        ends = [work]
        if self.leader is not None:
            ends.append(asyncio.get_running_loop().create_task(self.leader.lost()))
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends[1:]:
                end.cancel()
        if work.done():
            work.result()

    async def measure(self) -> None:
        """Keeps the metrics of the process: how late the event loop runs and how long it is held,
        and what can't be watched or decoded."""
        async with asyncio.TaskGroup() as group:
            group.create_task(watch_lag(self.metrics))
            group.create_task(self.metrics.loop.run())
            group.create_task(self._gauges())

    async def _gauges(self) -> None:
        while True:
            for informer in self.informers.values():
                kind = informer.kind.RESOURCE.kind
                self.metrics.watch_trouble.labels(kind).set(1 if informer.trouble else 0)
                self.metrics.unreadable.labels(kind).set(len(informer.broken))
            await asyncio.sleep(5)


def _finalizers(controllers: Iterable[Declaration], kind: type[Object]) -> frozenset[str]:
    """Ours on objects of this kind."""
    about = (c for c in controllers if isinstance(c, Controller) and c.kind is kind)
    return frozenset(finalizer for controller in about for finalizer in controller.writes.finalizers)


def _all_kinds(controllers: Iterable[Declaration]) -> tuple[type[Object], ...]:
    return tuple(dict.fromkeys(kind for controller in controllers for kind in kinds(controller)))
