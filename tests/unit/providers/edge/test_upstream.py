"""A service with several addresses is reached by the first that answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from seamark.core.resolver import Resolver
from seamark.providers.edge.agent.upstream import Upstream, UpstreamConnection


class Known(Resolver):
    def __init__(self, *addresses: str) -> None:
        super().__init__()
        self._addresses = addresses

    async def lookup(self, _host: str) -> tuple[str, ...]:
        return self._addresses


class Reached(UpstreamConnection):
    """Tells where it got to."""

    def __init__(self) -> None:
        stream: Any = None  # nothing is carried
        super().__init__(stream, lambda _url: None)
        self.peers: list[str] = []

    def connection_made(self, transport: Any) -> None:
        self.peers.append(transport.get_extra_info("peername")[0])
        transport.abort()

    def connection_lost(self, _error: Exception | None) -> None:
        pass


async def reached(*addresses: str) -> list[str]:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        connection = Reached()
        await connection._open(Upstream("db.shop.svc", port, fenced=True, resolver=Known(*addresses)))
        return connection.peers


def test_an_address_where_nobody_is_leaves_the_next() -> None:
    assert asyncio.run(reached("127.0.0.2", "127.0.0.1")) == ["127.0.0.1"]


def test_the_first_that_answers_is_enough() -> None:
    assert asyncio.run(reached("127.0.0.1", "127.0.0.1")) == ["127.0.0.1"]


def test_what_the_last_one_said_is_told() -> None:
    with pytest.raises(OSError, match=r"refused|111"):
        asyncio.run(reached("127.0.0.3", "127.0.0.2"))


def test_a_name_without_an_address_is_told() -> None:
    with pytest.raises(OSError, match=r"db\.shop\.svc"):
        asyncio.run(reached())
