"""The fake in memory keeps the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from seamark.providers.edge.memory import MemoryCalls, memory_edge
from tests.unit.operator.providers.edge.contract import OWNER, EdgeContract, World


class TestMemoryEdge(EdgeContract):
    @asynccontextmanager
    async def world(self) -> AsyncIterator[World]:
        calls, numbers = MemoryCalls(), count()

        async def agent_holds(url: str, metadata: str, bindings: tuple[str, ...]) -> None:
            calls.agent_holds(url, metadata, bindings)

        async def agent_refused(name: str, url: str, generation: int) -> None:
            calls.agent_refused(name, url, generation, f"{url.partition('://')[2]} is not reserved")

        yield World(
            memory_edge(calls, reachable=True),
            lambda: memory_edge(calls, reachable=True),
            calls.lose_next_reply,
            agent_holds,
            lambda: f"csr {next(numbers)}",
            lambda: calls.requests,
            agent_refused,
        )

    def test_nothing_is_asked_when_everything_is_as_wanted(self) -> None:
        calls = MemoryCalls()

        async def case(world: World) -> None:
            edge = memory_edge(calls, reachable=True)
            await edge.reserve_address(OWNER)
            before = calls.requests
            for _ in range(5):
                await edge.reserve_address(OWNER)
            assert calls.requests == before

        self.run(case)
