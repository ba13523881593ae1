"""The provider keeps its contract on a running edge, over the real API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from seamark.providers.edge.ratelimiter import RateLimiter
from seamark.providers.edge.remote import RemoteEdge
from seamark.providers.edge.rest import HttpClient, NotAdmitted, RestCalls, Sender
from seamark.providers.edge.seamark import CAPABILITIES, seamark_edge
from seamark_edge.model import Owner
from seamark_runtime.errors import Refused
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError
from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram
from tests.edge.services import free_port, give_back
from tests.edge.tls import signing_request
from tests.unit.operator.providers.edge.contract import EdgeContract, World


class Lossy(Sender):
    """A way to the edge that can lose the reply to the next write."""

    def __init__(self, door: HttpClient) -> None:
        self.door = door
        self.lose = False
        self.requests = 0

    async def send(self, request: HttpRequest) -> Answer:
        self.requests += 1
        answer = await self.door.send(request)
        if self.lose and request.writes:
            self.lose = False
            raise NoAnswerError("the reply was lost")
        return answer

    async def close(self) -> None:
        await self.door.close()


class TestSeamarkEdge(EdgeContract):
    @pytest.fixture(autouse=True)
    def _given(self, edge: RunningEdge, agents: Callable[[str], AgentProgram]) -> None:
        self.edge, self.agents = edge, agents

    @asynccontextmanager
    async def world(self) -> AsyncIterator[World]:
        made: list[RemoteEdge] = []

        def provider() -> RemoteEdge:
            made.append(RemoteEdge(RestCalls(lossy, RateLimiter(100_000)), CAPABILITIES))
            return made[-1]

        def lose() -> None:
            lossy.lose = True

        async def agent_holds(url: str, metadata: str, bindings: tuple[str, ...]) -> None:
            agent = self.agents("go")
            agent.must("connect", **self.edge.connection())
            agent.must("forward", url=url, upstream="tcp://127.0.0.1:1", metadata=metadata, bindings=list(bindings))

        async def agent_refused(name: str, url: str, generation: int) -> None:
            agent = self.agents("seamark")
            agent.must("connect", **self.edge.connection())
            asked = agent.ask("forward", url=url, upstream="tcp://127.0.0.1:1", name=name, generation=generation)
            assert "error" in asked

        lossy = Lossy(HttpClient(self.edge.api_url, self.edge.api_key))
        try:
            await self._clean(provider())
            csr, requests = lambda: signing_request()[0], lambda: lossy.requests
            yield World(provider(), provider, lose, agent_holds, csr, requests, agent_refused)
            await self._clean(provider())
        finally:
            for one in made:
                await one.close()

    async def _clean(self, provider: RemoteEdge) -> None:
        """A sweep by owner, as the operator does it."""
        for cluster in ("cluster-uid", "another"):
            ours = await provider.owned(cluster)
            for endpoint in ours.endpoints:
                if endpoint.owner:
                    await provider.close_endpoint(endpoint.owner)
            for address in ours.addresses:
                if address.owner:
                    await provider.release_address(address.owner)
            for domain in ours.domains:
                if domain.owner:
                    await provider.release_domain(domain.owner)

    def test_a_wrong_key_is_told(self) -> None:
        async def case(_: World) -> None:
            stranger = seamark_edge(self.edge.api_url, "ak_wrong")
            with pytest.raises(NotAdmitted, match="API key"):
                await stranger.probe()
            await stranger.close()

        self.run(case)


def test_an_edge_without_a_free_address_refuses_and_says_what_to_do(tmp_path: Path) -> None:
    """That is an answer and no outage: the caller can report it to its users."""
    port = free_port()
    edge = RunningEdge(tmp_path / "full", tcp_ports=f"{port}-{port}")

    async def reserve() -> None:
        provider = seamark_edge(edge.api_url, edge.api_key)
        try:
            await provider.reserve_address(Owner("cluster", "team-a", "shop", "uid-1"))
            with pytest.raises(Refused, match=r"no address .* is free: release addresses, or extend tcp_ports"):
                await provider.reserve_address(Owner("cluster", "team-b", "shop", "uid-2"))
        finally:
            await provider.close()

    try:
        asyncio.run(reserve())
    finally:
        edge.close()
        give_back(port)
