"""The data plane of the simulated world: the fake in memory, with faults of the network and troubles of its own."""

from __future__ import annotations

import asyncio
import enum
from typing import TYPE_CHECKING

from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_edge.dataplane.model import Snapshot
from seamark_edge.dataplane.protocol import Outcome, Rejected, Superseded
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry
from tests.simulation.faults import CANARY, Fault

if TYPE_CHECKING:
    from tests.simulation.world import World

BAD = "bad"  # routes of this name are refused by the data plane, as long as they have no hostname
TOO_LATE = 60.0  # seconds: later than any deadline of the family


class Trouble(enum.Enum):
    """Connections are accepted all the time, and `presence` stays as it is: only responses differ."""

    FROZEN = "it does not answer"
    LATE = "it answers when the deadline is over"
    OTHER = "it answers something else"


class TwinPlane(MemoryDataPlane):
    """`ever` are the snapshots that each gateway was served. A trouble concerns backends, too."""

    def __init__(self) -> None:
        super().__init__(listens=True)
        self.world: World
        self.ever: dict[Key, list[Snapshot]] = {}
        self.ill_since = 0.0
        self._ill_until = -1.0
        self._trouble = Trouble.FROZEN

    def fall_ill(self, trouble: Trouble, seconds: float) -> None:
        now = self.world.clock.monotonic()
        if not self.ill:
            self.ill_since = now
        self._trouble, self._ill_until = trouble, max(self._ill_until, now + seconds)
        self.world.trouble(seconds)

    @property
    def ill(self) -> bool:
        return self.world.clock.monotonic() < self._ill_until

    async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
        await asyncio.sleep(0.005)
        if self.world.under(Fault.OUTSIDE_REFUSES):
            raise Retry("the data plane is closed")
        if self.world.under(Fault.OUTSIDE_LEAKS):
            raise Retry(f"the data plane does not know Authorization: Bearer {CANARY}")
        if self.world.under(Fault.OUTSIDE_HANGS):
            await asyncio.Event().wait()
        outcome = await self._outcome(gateway, snapshot)
        if gateway in self.serving:
            self.ever.setdefault(gateway, []).append(self.serving[gateway])
        if self.world.under(Fault.OUTSIDE_LOSES):
            await asyncio.Event().wait()
        return outcome

    async def connect(self, host: str, port: int) -> None:
        if self.ill:
            await self._wait()
            raise Retry("the response is not one to this request")
        await super().connect(host, port)

    async def _outcome(self, gateway: Key, snapshot: Snapshot) -> Outcome:
        if self.ill:
            await self._wait()
            return Superseded()  # about another snapshot
        if tasteless(snapshot):
            return Rejected("no such flavour")
        return await super().program(gateway, snapshot)

    async def _wait(self) -> None:
        if self._trouble is Trouble.FROZEN:
            await asyncio.Event().wait()
        if self._trouble is Trouble.LATE:
            await asyncio.sleep(TOO_LATE)


def tasteless(snapshot: Snapshot) -> bool:
    """Whether there is a bad route for every name in it."""
    hosts = (host for table in snapshot.tables.values() for host in table.hosts if "*" in host.domains)
    return any(entry.origin.name == BAD for host in hosts for entry in host.entries)
