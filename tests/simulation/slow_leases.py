"""Candidates for one Lease whose requests are slow, on every side: at no moment do two of them lead.

- Each candidate's GETs, PATCHes or both are slow for a while: up to `SLOWEST` seconds, on the way to the API server or
  back. Now and then a leader that has just renewed is cut off, so that the lease changes hands.
- Each request takes effect at its own moment, whether its sender still waits for the response or not.
"""

from __future__ import annotations

import asyncio
from random import Random

from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_cluster.embedded import Settings as StoreSettings
from seamark_runtime.api.meta import Key
from seamark_runtime.client import Client
from seamark_runtime.leader import Leader, LeaseSettings
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError
from tests.simulation.faults import Plan
from tests.simulation.scenario import Violation
from tests.simulation.world import SimClock

CANDIDATES = ("a", "b")
LENGTH = 900.0  # seconds of one schedule
SETTINGS = LeaseSettings(duration=15, renew=5, margin=3)
SLOWEST, QUICK = 6.0, 0.1


class SlowLink:
    """A candidate's connection: so many seconds at the most for a read and for a write."""

    def __init__(self, election: SlowLeases, chance: Random) -> None:
        self.cut_until = 0.0
        self.on_the_way = 0  # requests that have not reached the API server yet
        self._election = election
        self._chance = chance
        self._slow: tuple[str, ...] = ()  # the methods that are slow at the moment

    async def change(self) -> None:
        """Slow for a while, then quick for a while."""
        while True:
            self._slow = self._chance.choice((("GET",), ("GET",), ("GET", "PATCH"), ("PATCH",)))
            await asyncio.sleep(self._chance.uniform(3, 10))
            self._slow = ()
            await asyncio.sleep(self._chance.uniform(5, 12))

    async def send(self, request: HttpRequest) -> Answer:
        self._election.requests += 1
        if self.cut_until > self._election.clock.monotonic():
            raise NoAnswerError("no route to host", sent=False)
        return await asyncio.shield(asyncio.ensure_future(self._deliver(request)))

    async def _deliver(self, request: HttpRequest) -> Answer:
        chance = self._chance
        total = chance.triangular(0, SLOWEST, 5) if request.method in self._slow else chance.uniform(0, QUICK)
        there = total * chance.choice((chance.random(), 1.0, 1.0))
        self.on_the_way += 1
        await asyncio.sleep(there)
        self.on_the_way -= 1
        answer = await EmbeddedTransport(self._election.store).send(request)
        if request.writes:
            self._election.written(self)
        await asyncio.sleep(total - there)
        return answer

    def stream(self, _request: HttpRequest) -> object:
        raise NotImplementedError("a candidate watches nothing")

    async def close(self) -> None:
        pass


class SlowLeases:
    """One schedule: all of its chances follow from the seed."""

    def __init__(self, seed: int, _plan: Plan) -> None:
        self.clock = SimClock()
        self.store = Store(clock=self.clock, chance=Random(seed), settings=StoreSettings(controllers=False))
        self.requests = 0
        self.terms = 0
        self.story: list[str] = []
        self.lines: list[bytes] = []
        self._chance = Random(seed)
        self._links = {name: SlowLink(self, self._chance) for name in CANDIDATES}
        self._leaders = {name: self._candidate(name) for name in CANDIDATES}
        self._overlap: Violation | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def _candidate(self, name: str) -> Leader:
        client = Client(self._links[name], manager="seamark", timeout=30)  # type: ignore[arg-type]  # it streams nothing
        return Leader(client, Key("default", "seamark"), name, self.clock, SETTINGS)

    async def drive(self) -> None:
        loop = asyncio.get_running_loop()
        for name, leader in self._leaders.items():
            programs = (self._links[name].change(), leader.run(), self._observe(name))
            self._tasks += [loop.create_task(program) for program in programs]
        while self.clock.monotonic() < LENGTH:
            await asyncio.sleep(10)
            if self._overlap is not None:
                raise self._overlap

    def written(self, link: SlowLink) -> None:
        """The worst moment for a leader to be cut off: a candidate's GET is on its way, and will show this write."""
        if any(other.on_the_way for other in self._links.values() if other is not link) and self._chance.random() < 0.6:
            link.cut_until = self.clock.monotonic() + self._chance.uniform(10, 40)
            self._tell("the leader is cut off")

    async def _observe(self, name: str) -> None:
        """Two terms overlap exactly if one begins while another lasts."""
        while True:
            await self._leaders[name].gained()
            self.terms += 1
            self._tell(f"{name} leads")
            for other, leader in self._leaders.items():
                if other != name and leader.leading:
                    words = f"{name} leads while {other} may write for {leader.remaining():.2f} s more"
                    self._overlap = self._overlap or Violation("one leader", words)
                    self._tell(f"!!! {words}")
            await self._leaders[name].lost()

    def _tell(self, words: str) -> None:
        self.story.append(f"{self.clock.monotonic():12.3f}  {words}")
        self.lines.append(self.story[-1].encode())

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
