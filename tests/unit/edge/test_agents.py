"""Agents' sessions without a network: silence and strangers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from seamark.edge.agents import AgentConnection
from seamark.edge.registry import Entry
from seamark.edge.server import Edge
from seamark.edge.sessions import STRANGERS
from seamark.edge.settings import EdgeSettings
from seamark.edge.urls import parse_url
from seamark.wire import tunnel
from seamark.wire.muxado import SessionClosed
from seamark.wire.muxado.frames import MAX_STREAM
from seamark.wire.muxado.stream import DISCARD


class Line:
    """A transport that remembers what happened to it."""

    def __init__(self) -> None:
        self.aborted = False
        self.sent = b""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("192.0.2.1", 5) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def writelines(self, pieces: list[bytes]) -> None:
        self.sent += b"".join(bytes(piece) for piece in pieces)

    def abort(self) -> None:
        self.aborted = True

    def close(self) -> None:
        self.aborted = True


def connected(edge: Edge) -> tuple[AgentConnection, Line]:
    agent, line = AgentConnection(edge.sessions), Line()
    agent.connection_made(cast("asyncio.BaseTransport", line))
    return agent, line


def test_an_agent_is_given_up_when_it_misses_its_own_heartbeats_and_not_before(tmp_path: Path) -> None:
    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db")))
        agent, _ = connected(edge)
        extra = tunnel.AuthExtra(heartbeat_interval=60 * 10**9, heartbeat_tolerance=30 * 10**9)
        agent.accept(tunnel.Auth(extra=extra), "ci_1", "cr_1")
        assert not agent.silent(agent.seen + 100)
        assert agent.silent(agent.seen + 106)
        await edge.stop()

    asyncio.run(case())


def test_a_session_without_stream_ids_left_is_closed_so_that_the_agent_comes_again(tmp_path: Path) -> None:
    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db")))
        agent, line = connected(edge)
        agent._session._last_local = MAX_STREAM - 1
        entry = Entry(id="ep_1", url=parse_url("tcp://a:1"), binding="public", created="", agent=agent)
        with pytest.raises(SessionClosed):
            agent.open_proxy(entry, "192.0.2.9:1", DISCARD, b"")
        assert line.aborted
        await edge.stop()

    asyncio.run(case())


def test_only_so_many_sessions_of_one_address_may_be_unauthenticated(tmp_path: Path) -> None:
    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db")))
        lines = [connected(edge)[1] for _ in range(STRANGERS + 1)]
        assert [line.aborted for line in lines] == [False] * STRANGERS + [True]
        await edge.stop()

    asyncio.run(case())
