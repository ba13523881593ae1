"""The whole: informers, queue, workers, events, leader, put together from what the families declare.

- Caches are warm on every replica; only the leader works. Losing the lease stops the workers at once, and the fence
  sends nothing after it; getting it back starts them again, with no restart of the process.
- Stopping lets work under way end, gives the lease back, and closes what was opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

import structlog

from seamark.api.meta import Key, Object
from seamark.core.access import AccessReviews
from seamark.core.cache import Index
from seamark.core.calls import Calls
from seamark.core.client import Client
from seamark.core.clock import Clock
from seamark.core.controller import kinds, scope
from seamark.core.events import Events
from seamark.core.expectations import Expectations
from seamark.core.follow import Follower
from seamark.core.leader import Leader, LeaseSettings
from seamark.core.loop import Loop
from seamark.core.metrics import Metrics, watch_lag
from seamark.core.passes import Services
from seamark.core.queue import Item, Queue
from seamark.core.scope import widest
from seamark.core.settings import Settings
from seamark.core.source import Informer
from seamark.core.transport import Transport
from seamark.core.waker import Declaration
from seamark.core.watch import Watch, WatchSettings

log = structlog.get_logger(__name__)

MANAGER = "seamark"


@dataclass(frozen=True)
class World:
    """What is passed in from outside: the way to the API server, time, chance, and who we are."""

    transport: Transport
    clock: Clock
    random: Random
    identity: str = "seamark"


class Operator:
    def __init__(self, world: World, controllers: Iterable[Declaration], settings: Settings) -> None:
        controllers = tuple(controllers)
        self.settings = settings
        self.world = world
        self.metrics = Metrics()
        for collector in dict.fromkeys(one for controller in controllers for one in controller.collectors):
            self.metrics.registry.register(collector)
        self.leader = self._leader() if settings.leader_election else None
        client = Client(world.transport, manager=MANAGER, fence=self.leader, timeout=settings.request_timeout)
        owners = {
            (c.name, kind): Index(kind, c.ownership.owners, f"owner in {c.name}")
            for c in controllers
            for kind in c.children
        }
        self.informers = {kind: self._informer(client, kind, controllers, owners) for kind in _all_kinds(controllers)}
        self.followers = {kind: self._follower(client, kind) for c in controllers for kind in (*c.singles, *c.kept)}
        self.reviews = AccessReviews(client, world.clock, world.random)
        self.queue = Queue(world.random)
        self.calls = Calls(world.random, self._wake, world.clock.monotonic, self.leader)
        self.events = Events(client, world.clock, self.metrics, world.identity)
        services = Services(
            client=client,
            informers=self.informers,
            followers=self.followers,
            reviews=self.reviews,
            queue=self.queue,
            calls=self.calls,
            expectations=Expectations(self._wake),
            events=self.events,
            metrics=self.metrics,
            clock=world.clock,
        )
        self.loop = Loop(services, controllers, owners)

    def _leader(self) -> Leader:
        settings = self.settings
        duration = settings.lease_duration
        lease = LeaseSettings(duration=duration, renew=duration / 3, margin=duration / 5)
        client = Client(self.world.transport, manager=MANAGER, timeout=settings.request_timeout)
        return Leader(client, Key(settings.namespace, settings.lease), self.world.identity, self.world.clock, lease)

    def _informer(
        self,
        client: Client,
        kind: type[Object],
        controllers: Iterable[Declaration],
        owners: dict[tuple[str, type[Object]], Index[Any]],
    ) -> Informer[Any]:
        declared = [index for controller in controllers for index in controller.indexes if index.kind is kind]
        indexes = tuple(dict.fromkeys([*declared, *(owners[pair] for pair in owners if pair[1] is kind)]))
        optional = not any(kind in kinds(one) and kind not in one.optional for one in controllers)
        watching = WatchSettings(idle=self.settings.watch_idle, lifetime=self.settings.watch_lifetime)
        followed = widest(scope(one, kind) for one in controllers if kind in kinds(one))
        watch = Watch(client, kind, self.world.random, followed.namespace, followed.selectors, watching)
        return Informer(watch, indexes, optional=optional)

    def _follower(self, client: Client, kind: type[Object]) -> Follower[Any]:
        return Follower(client, kind, self.world.random, self.settings.single_reads)

    def _wake(self, item: Item) -> None:
        self.loop.waker.wake(item)

    def missing(self) -> list[str]:
        """What stands between us and being ready, in words."""
        troubles = [informer.trouble for informer in self.informers.values() if informer.trouble]
        waiting = [f"waiting for {informer.name}" for informer in self.informers.values() if not informer.synced]
        return troubles or waiting

    @property
    def quiet(self) -> bool:
        return self.loop.quiet

    async def run(self) -> None:
        """Runs until cancelled; then stops in good order."""
        async with asyncio.TaskGroup() as group:
            beside = [
                *(group.create_task(informer.watch.run(informer.handle)) for informer in self.informers.values()),
                group.create_task(self.events.run()),
            ]
            if self.leader is not None:
                beside.append(group.create_task(self.leader.run()))
            try:
                await self._lead()
            finally:
                for task in beside:
                    task.cancel()
                for follower in self.followers.values():
                    await follower.stop()
                await self.reviews.stop()
                if self.leader is not None:
                    await self.leader.release()
                self.queue.close()

    async def _lead(self) -> None:
        while True:
            if self.leader is not None:
                await self.leader.gained()
                log.info("leading", identity=self.world.identity)
            self.metrics.leading.set(1)
            work = asyncio.get_running_loop().create_task(self.loop.run(self.settings.workers))
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
        """Returns when the lease is lost; raises what the work raised. A cancellation leaves the work running."""
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
        """Keeps the metrics that nobody else does: how late the loop runs, and what can't be followed or read."""
        async with asyncio.TaskGroup() as group:
            group.create_task(watch_lag(self.metrics))
            group.create_task(self._gauges())

    async def _gauges(self) -> None:
        while True:
            for informer in self.informers.values():
                kind = informer.kind.RESOURCE.kind
                self.metrics.watch_trouble.labels(kind).set(1 if informer.trouble else 0)
                self.metrics.unreadable.labels(kind).set(len(informer.broken))
            await asyncio.sleep(5)


def _all_kinds(controllers: Iterable[Declaration]) -> tuple[type[Object], ...]:
    return tuple(dict.fromkeys(kind for controller in controllers for kind in kinds(controller)))
