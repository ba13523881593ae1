"""An in-memory data plane: a fake for tests and for trying things out.

It takes every snapshot at once, unless it is set to lag, to refuse certain origins, or to be away.
"""

from __future__ import annotations

import asyncio

from seamark_edge.dataplane.model import Origin, Snapshot
from seamark_edge.dataplane.protocol import Outcome, Presence, Rejected, Served, Superseded
from seamark_runtime.api.meta import Key
from seamark_runtime.source import Facts


class MemoryDataPlane:
    """Contract of `protocol.DataPlane`; `serving` is what an instance that took all snapshots would serve."""

    def __init__(self) -> None:
        self.presence: Facts[Key, Presence] = Facts("data plane")
        self.serving: dict[Key, Snapshot] = {}
        self.refuses: dict[Origin, str] = {}  # pieces of these are refused, in these words
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
        return Served()

    async def remove(self, gateway: Key) -> None:
        self._turn.pop(gateway, None)
        self.serving.pop(gateway, None)
        self.presence.remove(gateway)

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
