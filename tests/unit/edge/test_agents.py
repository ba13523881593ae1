"""Agents' sessions without a network: lost connections and foreign sessions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from structlog.testing import capture_logs

from seamark_edge.edge.agents import LEAST_SILENCE, MOST_REFUSED, MOST_SILENCE, SLACK_SECONDS, AgentConnection, Refused
from seamark_edge.edge.binds import MAX_METADATA, labelled_url
from seamark_edge.edge.credentials import TOKEN
from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.limits import ConnectionLimit, Slot
from seamark_edge.edge.registry import Entry
from seamark_edge.edge.rpc import MAX_PENDING
from seamark_edge.edge.sessions import SLICE
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.edge.urls import parse_url
from seamark_edge.model import UNUSABLE, Owner
from seamark_edge.process.server import Edge
from seamark_edge.wire import tunnel
from seamark_edge.wire.muxado import SessionClosed, data_header
from seamark_edge.wire.muxado.frames import MAX_STREAM, SYN, goaway_frame
from seamark_edge.wire.muxado.stream import DISCARD


class Line:
    """A transport that remembers what happened to it."""

    def __init__(self) -> None:
        self.aborted = False
        self.reading = True
        self.sent = b""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("192.0.2.1", 5) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def writelines(self, pieces: list[bytes]) -> None:
        self.sent += b"".join(bytes(piece) for piece in pieces)

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True

    def close(self) -> None:
        self.aborted = True


def connected(edge: Edge, slot: Slot | None = None) -> tuple[AgentConnection, Line]:
    agent, line = AgentConnection(edge.sessions, slot), Line()
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


def test_why_an_agent_can_not_hold_an_endpoint_is_remembered_until_it_can(tmp_path: Path) -> None:
    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db")))
        agent, _ = connected(edge)
        problem = tunnel.UnusableEndpoint(
            name="web", url="tls://a", generation=4, message="the Secret a does not exist"
        )
        assert agent.unusable(problem) == tunnel.Outcome()
        assert agent.refused == {"web": Refused("web", "tls://a", 4, UNUSABLE, "the Secret a does not exist")}
        agent.unusable(tunnel.UnusableEndpoint(name="web"))
        assert agent.refused == {}
        agent.was_refused(tunnel.Bind(extra=tunnel.BindExtra(name="web")), Refusal(334, "taken"))
        agent.unusable(tunnel.UnusableEndpoint(name="web"))
        assert agent.refused["web"].code == "ERR_NGROK_334"
        for number in range(MOST_REFUSED + 10):
            agent.unusable(tunnel.UnusableEndpoint(name=str(number), message="x" * 5000))
        assert len(agent.refused) == MOST_REFUSED
        assert {len(refused.message) for refused in agent.refused.values()} == {1024}
        await edge.stop()

    asyncio.run(case())


@pytest.mark.parametrize("labels", [{}, {"app": ""}, {"": "x"}, {"app": "two words"}, {"app": "-x"}, {"a": "b" * 64}])
def test_labels_that_are_no_part_of_a_name_are_refused(labels: dict[str, str]) -> None:
    with pytest.raises(Refusal, match="label"):
        labelled_url(labels)


def test_what_one_namespace_was_refused_makes_nobody_forget_that_of_another(tmp_path: Path) -> None:
    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "edge.db")))
        agent, refusal = AgentConnection(edge.sessions), Refusal(429, "too much")
        others = tunnel.Bind(extra=tunnel.BindExtra(name=Owner("", "tenant-b", "web", "uid").key))
        agent.was_refused(others, refusal)
        for number in range(2 * MOST_REFUSED):
            name = Owner("", "tenant-a", f"web{number}", f"uid{number}").key
            agent.was_refused(tunnel.Bind(extra=tunnel.BindExtra(name=name)), refusal)
        assert len(agent.refused) == MOST_REFUSED
        assert others.extra.name in agent.refused
        await edge.stop()

    asyncio.run(case())


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


def test_beyond_the_limit_the_oldest_session_that_is_not_authenticated_is_closed(tmp_path: Path) -> None:
    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db")))
        limit = ConnectionLimit(per_source=9, total=9, unproven=2)
        lines = []
        for number in range(4):
            agent, line = connected(edge, slot := limit.take("192.0.2.1"))
            assert slot is not None
            slot.start()
            lines.append(line)
            if number == 0:
                agent.accept(tunnel.Auth(), "ci_1", "cr_1")
        assert [line.aborted for line in lines] == [False, True, False, False]
        await edge.stop()

    asyncio.run(case())


@pytest.mark.parametrize("seconds", [2**63 // 10**9, 10**6, -(2**62) // 10**9])
def test_an_agent_is_given_up_in_the_end_whatever_heartbeats_it_announces(tmp_path: Path, seconds: int) -> None:
    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db")))
        (agent, line), (other, _) = connected(edge), connected(edge)
        extra = tunnel.AuthExtra(heartbeat_interval=seconds * 10**9, heartbeat_tolerance=2**62)
        agent.accept(tunnel.Auth(extra=extra), "ci_1", "cr_1")
        assert not agent.silent(agent.seen + LEAST_SILENCE)
        agent.seen -= MOST_SILENCE + SLACK_SECONDS + 1
        edge.sessions.close_silent()
        assert (line.aborted, agent.silent(other.seen)) == (True, True)
        await edge.stop()

    asyncio.run(case())


async def authenticated(edge: Edge, token: str) -> AgentConnection:
    agent, _ = connected(edge)
    await edge.sessions.auth(agent, tunnel.Auth(extra=tunnel.AuthExtra(go_token=token)))
    return agent


def test_a_token_has_so_many_sessions_endpoints_and_requests_and_its_own_limits_come_first(tmp_path: Path) -> None:
    async def case() -> None:
        edge = Edge(
            EdgeSettings(
                state=str(tmp_path / "s.db"),
                sessions_per_token=2,
                endpoints_per_token=3,
                agent_requests_per_minute=8,
            )
        )
        _, token = await edge.credentials.make(TOKEN, {})
        _, more = await edge.credentials.make(TOKEN, {"max_sessions": 3, "max_endpoints": 4})
        agent = await authenticated(edge, token)
        await authenticated(edge, token)
        with pytest.raises(Refusal, match="limited to 2 sessions"):
            await authenticated(edge, token)
        others = [await authenticated(edge, more) for _ in range(3)]
        for held, most in ((agent, 3), (others[0], 4)):
            for number in range(most):
                labels = {"app": f"{held.credential.lower().replace('_', '-')}-{number}"}
                await edge.sessions.bind_labels(held, tunnel.StartWithLabels(labels=labels))
            with pytest.raises(Refusal, match=f"limited to {most} endpoints"):
                await edge.sessions.bind_labels(held, tunnel.StartWithLabels(labels={"app": "more"}))
        with pytest.raises(Refusal) as caught:
            await unbound(edge, agent, 10)
        assert (caught.value.status, caught.value.after is not None) == (429, True)
        await edge.stop()

    asyncio.run(case())


@pytest.mark.parametrize("metadata", ["x" * (MAX_METADATA + 1), "é" * (MAX_METADATA // 2 + 1)])
def test_metadata_beyond_the_limit_is_refused_for_sessions_and_endpoints(tmp_path: Path, metadata: str) -> None:
    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db")))
        _, token = await edge.credentials.make(TOKEN, {})
        agent, _ = connected(edge)
        extra = tunnel.AuthExtra(go_token=token, metadata=metadata)
        with pytest.raises(Refusal, match="metadata of more than 4096 bytes"):
            await edge.sessions.auth(agent, tunnel.Auth(extra=extra))
        allowed = msgspec.structs.replace(extra, metadata="x" * MAX_METADATA)
        await edge.sessions.auth(agent, tunnel.Auth(extra=allowed))
        labels = tunnel.StartWithLabels(labels={"app": "a"}, metadata=metadata)
        with pytest.raises(Refusal, match="metadata of more than 4096 bytes"):
            await edge.sessions.bind_labels(agent, labels)
        bind = tunnel.Bind(proto="tcp", extra=tunnel.BindExtra(metadata=metadata))
        with pytest.raises(Refusal, match="metadata of more than 4096 bytes"):
            await edge.sessions.bind(agent, bind)
        assert (agent.auth.metadata, edge.registry.entries) == ("x" * MAX_METADATA, {})
        await edge.stop()

    asyncio.run(case())


async def unbound(edge: Edge, agent: AgentConnection, times: int) -> None:
    for _ in range(times):
        try:
            await edge.sessions.unbind(agent, tunnel.Unbind(id="none"))
        except Refusal as refusal:
            if refusal.status != 404:
                raise


def test_an_agent_with_many_endpoints_leaves_without_holding_the_others_up(tmp_path: Path) -> None:
    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db")))
        _, token = await edge.credentials.make(TOKEN, {})
        agent = await authenticated(edge, token)
        for number in range(SLICE * 3):
            await edge.sessions.bind_labels(agent, tunnel.StartWithLabels(labels={"app": f"a{number}"}))
        rest = edge.sessions.left(agent)
        assert len(edge.registry.entries) == SLICE * 2
        assert rest is not None
        await rest
        assert (edge.registry.entries, edge.registry.of_agent(agent)) == ({}, [])
        await edge.stop()

    asyncio.run(case())


def test_unfinished_requests_of_one_agent_are_bounded_together(tmp_path: Path) -> None:
    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db")))
        _, token = await edge.credentials.make(TOKEN, {})
        agent = await authenticated(edge, token)
        for number in range(200):
            body = b"\0\0\0\1" + b'{"x":"' + b"x" * 60_000
            agent.data_received(data_header(2 * number + 1, len(body), SYN) + body)
            await asyncio.sleep(0)  # input that takes long is handled in slices
        assert agent.pending <= MAX_PENDING
        agent.connection_lost(None)
        assert agent.pending == 0
        await edge.stop()

    asyncio.run(case())


@pytest.mark.parametrize("sent", [b"junk" * 10, goaway_frame(0, 0)], ids=["junk", "goes away"])
def test_peers_without_a_token_write_nothing_into_the_log(tmp_path: Path, sent: bytes) -> None:
    async def case() -> list[str]:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db")))
        with capture_logs() as lines:
            agent, _ = connected(edge)
            agent.data_received(sent)
            agent._too_late()
            agent.connection_lost(None)
            await asyncio.sleep(0)
        await edge.stop()
        return [line["event"] for line in lines if line["log_level"] != "debug"]

    assert asyncio.run(case()) == []
