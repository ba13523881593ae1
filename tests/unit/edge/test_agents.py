"""Agents' sessions without a network: silence and strangers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from seamark.edge.agents import MOST_REFUSED, AgentConnection, Refused
from seamark.edge.binds import labelled_url
from seamark.edge.errors import Refusal
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


def test_what_an_agent_was_refused_is_remembered_until_it_gets_it_and_not_without_bound(tmp_path: Path) -> None:
    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db")))
        agent, _ = connected(edge)
        refusal = Refusal(334, "taken")
        for number in range(MOST_REFUSED + 10):
            agent.was_refused(tunnel.Bind(opts={"URL": f"tcp://a:{number}"}), refusal)
        assert len(agent.refused) == MOST_REFUSED
        assert next(iter(agent.refused)) == "tcp://a:10"
        named = tunnel.Bind(opts={"URL": "tcp://b:1"}, extra=tunnel.BindExtra(name="web", generation=4))
        agent.was_refused(named, refusal)
        assert agent.refused["web"] == Refused("web", "tcp://b:1", 4, "ERR_NGROK_334", "taken")
        agent.was_bound(named)
        assert "web" not in agent.refused
        await edge.stop()

    asyncio.run(case())


@pytest.mark.parametrize("labels", [{}, {"app": ""}, {"": "x"}, {"app": "two words"}, {"app": "-x"}, {"a": "b" * 64}])
def test_labels_that_are_no_part_of_a_name_are_refused(labels: dict[str, str]) -> None:
    with pytest.raises(Refusal, match="label"):
        labelled_url(labels)


def test_labels_have_one_place_whatever_their_order() -> None:
    assert str(labelled_url({"zone": "EU", "app": "web"})) == "tcp://web.app.eu.zone.labels.internal:1"
    assert labelled_url({"app": "web", "zone": "eu"}) == labelled_url({"zone": "EU", "app": "web"})


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
