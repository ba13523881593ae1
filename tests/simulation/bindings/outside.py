"""The edge and the network of the cluster, with the troubles that the world sends."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from seamark.families.bindings.model.certificates import Life
from seamark.providers.edge.calls import Kind
from seamark.providers.edge.memory import MemoryCalls
from seamark_edge.model import Fields
from seamark_runtime.errors import Retry
from tests.simulation.faults import CANARY, Fault

if TYPE_CHECKING:
    from tests.simulation.world import World

NEVER = float("-inf")


class FakeEdge(MemoryCalls):
    """The edge in memory. `troubled`: when it last failed us."""

    def __init__(self) -> None:
        super().__init__()
        self.world: World
        self.network = FakeNetwork()
        self.clock = FakeClock(self)
        self.troubled = NEVER

    def urls(self) -> dict[str, list[str]]:
        """What is bound, by URL: the ids of its endpoints."""
        found: dict[str, list[str]] = {}
        for item in self._objects[Kind.ENDPOINTS].values():
            found.setdefault(item["url"], []).append(item["id"])
        return found

    def operators(self) -> int:
        return len(self._objects[Kind.OPERATORS])

    def leave(self, url: str) -> None:
        """The agent that came last to this URL goes."""
        if held := self.urls().get(url):
            self.endpoint_goes(held[-1])

    async def listed(self, kind: Kind, *, limit: int = 0, where: str = "") -> list[Fields]:
        await self._before()
        return await super().listed(kind, limit=limit, where=where)

    async def bound(self, operator: str) -> list[Fields]:
        await self._before()
        return await super().bound(operator)

    async def create(self, kind: Kind, body: Fields) -> Fields:
        await self._before()
        return await self._after(await super().create(kind, body))

    async def update(self, kind: Kind, ident: str, body: Fields) -> Fields:
        await self._before()
        return await self._after(await super().update(kind, ident, body))

    async def delete(self, kind: Kind, ident: str) -> None:
        await self._before()
        await super().delete(kind, ident)
        await self._after({})

    async def _after(self, made: Fields) -> Fields:
        if self.world.under(Fault.OUTSIDE_LOSES):
            self._trouble(120)
            await asyncio.Event().wait()
        return made

    async def _before(self) -> None:
        await asyncio.sleep(0.005)
        if self.world.under(Fault.OUTSIDE_REFUSES):
            self._trouble()
            raise Retry("the edge is closed")
        if self.world.under(Fault.OUTSIDE_LEAKS):
            self._trouble()
            raise Retry(f"the edge does not know Authorization: Bearer {CANARY}")
        if self.world.under(Fault.OUTSIDE_HANGS):
            self._trouble(120)
            await asyncio.Event().wait()

    def _trouble(self, lasts: float = 0.0) -> None:
        self.troubled = max(self.troubled, self.world.clock.monotonic() + lasts)


class FakeClock:
    """The world's clock, once there is a world."""

    def __init__(self, edge: FakeEdge) -> None:
        self._edge = edge

    def monotonic(self) -> float:
        return self._edge.world.clock.monotonic()

    def wall(self) -> datetime:
        return self._edge.world.clock.wall()


class FakeNetwork:
    """Connections to upstream Services, by the port of the target. `connected` and `failed`: when, by place."""

    def __init__(self) -> None:
        self.world: World
        self.down: set[int] = set()
        self.connected: dict[tuple[str, int], float] = {}
        self.failed: dict[int, float] = {}

    async def dial(self, address: str, port: int) -> None:
        await asyncio.sleep(0.002)
        now = self.world.clock.monotonic()
        if self.world.under(Fault.OUTSIDE_HANGS):
            self.failed[port] = now + 30
            await asyncio.Event().wait()
        if port in self.down or self.world.under(Fault.OUTSIDE_REFUSES) or self.world.under(Fault.OUTSIDE_LEAKS):
            self.failed[port] = now
            raise ConnectionRefusedError(111, "Connection refused")
        self.connected[(address, port)] = now


class FakeCertificates:
    """Keys that are the same in every run."""

    def __init__(self) -> None:
        self._count = 0

    def request(self) -> tuple[str, str]:
        self._count += 1
        return f"request {self._count}", f"key {self._count}"

    def life(self, certificate: bytes, key: bytes) -> Any:
        good = certificate.startswith(b"certificate ") and key.startswith(b"key ")
        return Life(datetime(2020, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)) if good else None
