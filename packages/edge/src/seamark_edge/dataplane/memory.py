"""An in-memory data plane: for trying things out, and a fake of a real one for tests.

It takes every snapshot at once, unless it is set to lag, to refuse certain origins, or to be away. It listens nowhere,
and reports that; as a fake, it reports what a data plane would that listens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from seamark_edge.dataplane.model import Origin, Snapshot
from seamark_edge.dataplane.protocol import (
    ConnectionRefused,
    NotProbed,
    Outcome,
    Presence,
    Rejected,
    Served,
    Superseded,
)
from seamark_runtime.api.meta import Key
from seamark_runtime.source import Facts


class MemoryDataPlane:
    """Contract of `protocol.DataPlane`; `serving` is what an instance that took all snapshots would serve.

    `listens`: a fake of a data plane that listens, and connects to backends.
    """

    def __init__(self, *, listens: bool = False) -> None:
        self._listens = listens
        self.presence: Facts[Key, Presence] = Facts("data plane")
        self.lasting = True
        self.serving: dict[Key, Snapshot] = {}
        self.refuses: dict[Origin, str] = {}  # pieces of these are refused, in these words
        self.refusing: set[tuple[str, int]] = set()  # endpoints of backends that refuse connections
        self.lag = 0.0
        self.here = asyncio.Event()  # cleared while no instance answers
        self.here.set()
        self._turn: dict[Key, int] = {}
        self._arrivals = 1

    async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
        turn = self._turn[gateway] = self._turn.get(gateway, 0) + 1
        if self.lag:
            await asyncio.sleep(self.lag)
        await self.here.wait()
        if self._turn.get(gateway) != turn:
            return Superseded()
        self.presence.put(gateway, Presence(1, self._arrivals))
        for table in snapshot.tables.values():
            for entry in (entry for host in table.hosts for entry in host.entries):
                if entry.origin in self.refuses:
                    return Rejected(self.refuses[entry.origin], (table.name,))
        self.serving[gateway] = snapshot
        return Served(1 if self._listens else 0)

    async def remove(self, gateway: Key) -> None:
        self._turn.pop(gateway, None)
        self.serving.pop(gateway, None)
        self.presence.remove(gateway)

    async def retain(self, exists: Callable[[Key], bool]) -> None:
        """Nothing is left by an earlier process."""

    async def connect(self, host: str, port: int) -> None:
        if not self._listens:
            raise NotProbed("nothing is probed: the data plane is in memory")
        if (host, port) in self.refusing:
            raise ConnectionRefused("the connection was refused")

    def restart(self) -> None:
        """Forgets all that was served; it has to be programmed again."""
        self._arrivals += 1
        for gateway in list(self.serving):
            del self.serving[gateway]
            self.presence.put(gateway, Presence(1, self._arrivals))

    async def run(self) -> None:
        """As with Envoys on this machine: what is served ends with us."""
        try:
            await asyncio.Event().wait()
        finally:
            for gateway in list(self.serving):
                await self.remove(gateway)
