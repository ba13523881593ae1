"""The edge of the simulated world: the fake in memory, with faults, and agents that hold what the cluster has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from seamark.providers.edge.calls import Kind
from seamark.providers.edge.memory import MemoryCalls
from seamark_edge.model import Fields, Owner
from seamark_runtime.errors import Retry
from tests.simulation.faults import CANARY, Fault
from tests.simulation.scenario import Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

AGENTS = "agentendpoints.ngrok.k8s.ngrok.com"
OUTAGES = (Fault.OUTSIDE_REFUSES, Fault.OUTSIDE_HANGS, Fault.OUTSIDE_LEAKS, Fault.OUTSIDE_LOSES)


class TwinEdge(MemoryCalls):
    """Addresses, domains and endpoints with the troubles that the world sends.

    - No owner has two addresses, at any moment.
    - `fall_silent`: for so many seconds it does not answer, or refuses connections. What it has stays; so do agents.
    - Agents hold every AgentEndpoint that the cluster has, as it is now; `agents` says whether any are there.
    """

    def __init__(self) -> None:
        super().__init__(host="edge.example", domain="edge.example")
        self.world: World
        self.agents = True
        self.silent_since = float("inf")
        self._silent_until = float("-inf")
        self._hangs = False
        self.made: list[str] = []
        self.gone: list[str] = []

    async def listed(self, kind: Kind, *, limit: int = 0, where: str = "") -> list[Fields]:
        await self._before()
        found = await super().listed(kind, limit=limit, where=where)
        return [*found, *self.held()] if kind is Kind.ENDPOINTS else found

    async def check(self, idents: Collection[str]) -> dict[str, Fields]:
        await self._before()
        return await super().check(idents)

    def _endpoints(self) -> list[Fields]:
        return [*super()._endpoints(), *self.held()]

    async def create(self, kind: Kind, body: Fields) -> Fields:
        await self._before()
        self._once(kind, body)
        made = await super().create(kind, body)
        self.made.append(f"{kind.name} {made.get('domain', '')}")
        self.world.tell(f"      the edge makes {kind.name} {made.get('addr') or made.get('domain') or made.get('url')}")
        await self._after()
        return made

    async def update(self, kind: Kind, ident: str, body: Fields) -> Fields:
        await self._before()
        changed = await super().update(kind, ident, body)
        self.world.tell(f"      the edge changes {kind.name} {ident}")
        await self._after()
        return changed

    async def delete(self, kind: Kind, ident: str) -> None:
        await self._before()
        await super().delete(kind, ident)
        self.gone.append(kind.name)
        self.world.tell(f"      the edge deletes {kind.name} {ident}")
        await self._after()

    def fall_silent(self, seconds: float, *, hangs: bool = False) -> None:
        self.silent_since = self.world.clock.monotonic()
        self._silent_until, self._hangs = self.silent_since + seconds, hangs
        self.world.trouble(seconds)

    @property
    def silent(self) -> bool:
        return self.world.clock.monotonic() < self._silent_until

    def there(self, kind: Kind) -> list[Fields]:
        return list(self._objects[kind].values())

    def lose(self, kind: Kind) -> None:
        """A user deletes everything of a kind by hand."""
        self._objects[kind].clear()

    def reserve_by_hand(self, addr: str) -> None:
        if not any(item["addr"] == addr for item in self.there(Kind.ADDRESSES)):
            self._new(Kind.ADDRESSES, {"addr": addr, "metadata": "mine"})

    def held(self) -> list[Fields]:
        """What agents hold now."""
        if not self.agents:
            return []
        return [_held(obj) for obj in self.world.store.objects(AGENTS) if "deletionTimestamp" not in obj["metadata"]]

    def _once(self, kind: Kind, body: Fields) -> None:
        owner = Owner.of(body["metadata"])
        twice = [item for item in self.there(kind) if Owner.of(item.get("metadata") or "") == owner]
        if twice and kind is Kind.ADDRESSES:
            with self.world.watching():
                raise Violation("reserved once", f"{owner} has {twice[0]['addr']} already")

    async def _before(self) -> None:
        await asyncio.sleep(0.005)
        if self.silent and self._hangs:
            await asyncio.Event().wait()
        if self.silent:
            raise Retry("connection refused")
        if self.world.under(Fault.OUTSIDE_REFUSES):
            raise Retry("the edge is closed")
        if self.world.under(Fault.OUTSIDE_LEAKS):
            raise Retry(f"the edge does not know Authorization: Bearer {CANARY}")
        if self.world.under(Fault.OUTSIDE_HANGS):
            await asyncio.Event().wait()

    async def _after(self) -> None:
        if self.world.under(Fault.OUTSIDE_LOSES):
            await asyncio.Event().wait()


def _held(obj: Any) -> Fields:
    meta, spec = obj["metadata"], obj["spec"]
    policy = (spec.get("trafficPolicy") or {}).get("inline")
    return {
        "id": f"agent_{meta['uid']}",
        "type": "agent",
        "url": spec["url"],
        "metadata": "",
        "traffic_policy": json.dumps(policy) if policy else "",
        "bindings": spec.get("bindings") or ["public"],
        "tunnel_session": {"id": "ts_1"},
        "name": f"sim/{meta['namespace']}/{meta['name']}/{meta['uid']}/",
        "generation": meta["generation"],
    }
