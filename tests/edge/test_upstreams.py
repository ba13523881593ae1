"""Whether an upstream accepts connections: what the edge shows of it, for our agents and for others."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from seamark_edge.agent.link import Callbacks, Link
from seamark_edge.wire import tunnel
from seamark_edge.wire.muxado import Stream
from seamark_edge.wire.tunnel import StreamType
from seamark_runtime.errors import Refused
from tests.edge.driving import Start, connected, listed
from tests.edge.running import RunningEdge
from tests.edge.services import dial, echo, eventually, free_port, give_back, service
from tests.edge.tls import server_tls

FIELDS = {"reachable", "detail", "since", "checked", "agents"}


def upstream_of(edge: RunningEdge, url: str) -> dict[str, Any] | None:
    (found,) = listed(edge, url)
    report: dict[str, Any] | None = found["seamark_upstream"]
    return report


def check(edge: RunningEdge, url: str) -> dict[str, Any]:
    status, report = edge.api("POST", f"/endpoints/{listed(edge, url)[0]['id']}/check")
    assert status == 200, report
    assert set(report) == FIELDS
    found: dict[str, Any] = report
    return found


def bound_to_a_free_port() -> socket.socket:
    """Another test run on this machine may take a port between the look at it and its use."""
    for _ in range(20):
        listener = socket.socket()
        try:
            listener.bind(("127.0.0.1", free_port()))
        except OSError:
            listener.close()
        else:
            return listener
    raise AssertionError("every port is taken")


@contextmanager
def silent_port() -> Iterator[str]:
    """Connections to it are neither accepted nor refused."""
    with bound_to_a_free_port() as listener:
        listener.listen(0)
        address = listener.getsockname()
        held = [socket.socket() for _ in range(4)]
        for filling in held:
            filling.setblocking(False)
            with suppress(BlockingIOError):
                filling.connect(address)
        yield f"127.0.0.1:{address[1]}"
        for filling in held:
            filling.close()
        give_back(address[1])


def test_several_endpoints_are_checked_by_one_request(edge: RunningEdge, agents: Start) -> None:
    agent, port = connected(agents, "seamark", edge), free_port()
    dead = agent.must("forward", url="tcp://", upstream=f"tcp://127.0.0.1:{port}")["url"]
    with service(echo) as upstream:
        live = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        idents = [listed(edge, url)[0]["id"] for url in (dead, live)]
        status, answer = edge.api("POST", "/endpoints/check", {"ids": [*idents, "ep_of_nobody"]})
    assert status == 200, answer
    found = {item["id"]: item["seamark_upstream"]["reachable"] for item in answer["endpoints"]}
    assert found == {idents[0]: False, idents[1]: True}
    assert edge.api("POST", "/endpoints/check", {"ids": ["x"] * 10})[1]["endpoints"] == []
    assert edge.api("POST", "/endpoints/check", {"ids": [f"ep_{n}" for n in range(101)]})[0] == 400
    assert edge.api("POST", "/endpoints/check", {"ids": "x"})[0] == 400
    give_back(port)


def test_a_check_has_the_agent_dial_now(edge: RunningEdge, agents: Start) -> None:
    agent, port = connected(agents, "seamark", edge), free_port()
    url = agent.must("forward", url="tcp://", upstream=f"tcp://127.0.0.1:{port}")["url"]
    assert upstream_of(edge, url) is None  # nobody has dialled it yet
    refused = check(edge, url)
    assert (refused["reachable"], refused["agents"]) == (False, 1)
    assert refused["detail"] == f"127.0.0.1:{port}: Connection refused"
    assert upstream_of(edge, url) == refused
    with service(echo) as upstream:
        other = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        accepted = check(edge, other)
        assert (accepted["reachable"], accepted["detail"]) == (True, "")
        assert accepted["since"] == accepted["checked"]
    gone = check(edge, other)
    assert gone["reachable"] is False
    give_back(port)


def test_the_result_of_each_dial_is_reported(edge: RunningEdge, agents: Start) -> None:
    agent = connected(agents, "seamark", edge)
    with service(echo) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        with dial(url) as client:
            client.sendall(b"x")
            assert client.recv(10) == b"x"
        eventually(lambda: (upstream_of(edge, url) or {}).get("reachable") is True, "the dial is reported")
    with suppress(ConnectionResetError), dial(url) as client:  # the reset may arrive before the dial returns
        client.recv(10)
    eventually(lambda: (upstream_of(edge, url) or {}).get("reachable") is False, "the failure is reported")


def test_an_upstream_that_neither_accepts_nor_refuses_is_not_reachable_in_bounded_time(
    edge: RunningEdge, agents: Start
) -> None:
    agent = connected(agents, "seamark", edge)
    with silent_port() as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        began = time.monotonic()
        report = check(edge, url)
        assert time.monotonic() - began < 4
    assert (report["reachable"], report["detail"]) == (False, f"{upstream}: no response in time")


def test_an_agent_that_is_frozen_is_not_reachable(edge: RunningEdge, agents: Start) -> None:
    agent = connected(agents, "seamark", edge)
    with service(echo) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        assert check(edge, url)["reachable"] is True
        os.kill(agent.process.pid, signal.SIGSTOP)
        try:
            with ThreadPoolExecutor(8) as many:  # one check is in flight: all get its result
                began = time.monotonic()
                reports = list(many.map(lambda _: check(edge, url), range(8)))
                assert time.monotonic() - began < 8
        finally:
            os.kill(agent.process.pid, signal.SIGCONT)
        assert {report["reachable"] for report in reports} == {False}
        assert reports[0]["detail"] == "the agent did not answer within 4 s"
        eventually(lambda: check(edge, url)["reachable"] is True, "it answers again")


def test_of_several_agents_one_that_reaches_it_is_enough(edge: RunningEdge, agents: Start) -> None:
    good, bad, port = connected(agents, "seamark", edge), connected(agents, "seamark", edge), free_port()
    with service(echo) as upstream:
        url = good.must("forward", url="tcp://", upstream=f"tcp://{upstream}", pooling=True, name="pool")["url"]
        bad.must("forward", url=url, upstream=f"tcp://127.0.0.1:{port}", pooling=True, name="pool")
        first, second = (entry["id"] for entry in listed(edge, url))
        for ident in (first, second):
            _, report = edge.api("POST", f"/endpoints/{ident}/check")
            assert (report["reachable"], report["agents"]) == (True, 2)
        for _ in range(4):  # which is what a client sees
            with dial(url) as client:
                client.sendall(b"x")
                assert client.recv(10) == b"x"
    give_back(port)


def test_a_check_follows_the_forwards_of_an_endpoint_of_the_api(edge: RunningEdge, agents: Start) -> None:
    agent, inner = connected(agents, "seamark", edge), f"tcp://checked-{free_port()}.internal:1"
    policy = {"on_tcp_connect": [{"actions": [{"type": "forward-internal", "config": {"url": inner}}]}]}
    _, address = edge.api("POST", "/reserved_addrs", {})
    url = f"tcp://{address['addr']}"
    status, made = edge.api(
        "POST", "/endpoints", {"url": url, "bindings": ["public"], "traffic_policy": json.dumps(policy)}
    )
    assert status == 201, made
    none = check(edge, url)
    assert (none["reachable"], none["agents"]) == (None, 0)
    with service(echo) as upstream:
        agent.must("forward", url=inner, upstream=f"tcp://{upstream}", bindings=["internal"])
        found = check(edge, url)
        assert (found["reachable"], found["agents"]) == (True, 1)
    assert check(edge, url)["reachable"] is False
    edge.api("DELETE", f"/endpoints/{made['id']}")


@pytest.mark.parametrize("sdk", ["python", "go"])
def test_of_an_official_agent_the_edge_shows_what_it_saw(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent = connected(agents, sdk, edge)
    with service(echo) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        assert upstream_of(edge, url) is None
        unknown = check(edge, url)
        assert (unknown["reachable"], unknown["agents"]) == (None, 1)
        assert upstream_of(edge, url) is None
        with dial(url) as client:
            client.sendall(b"x")
            assert client.recv(10) == b"x"
        assert (upstream_of(edge, url) or {})["reachable"] is True

    def ends_unanswered() -> bool:
        with suppress(ConnectionResetError), dial(url) as client:
            client.sendall(b"x")
            client.recv(10)
        return (upstream_of(edge, url) or {}).get("reachable") is False

    eventually(ends_unanswered, "a connection ended without an answer")


class HostileLink(Link):
    """Answers checks with whatever bytes it is given."""

    answers = b""

    def check(self, stream: Stream, body: bytes) -> None:
        stream.write(self.answers)
        stream.finish()


async def unused(_bind: str) -> tunnel.UpstreamReport:
    raise AssertionError("checks are answered by the link")


def test_what_a_hostile_agent_reports_is_bounded_and_escaped(edge: RunningEdge) -> None:
    async def case() -> None:
        host, _, port = edge.address.rpartition(":")
        callbacks = Callbacks(lambda _: None, lambda *_: None, lambda *_: None, unused)
        link = await HostileLink.dial((host, int(port)), ssl.create_default_context(cafile=edge.ca), callbacks)
        assert isinstance(link, HostileLink)
        extra = tunnel.AuthExtra(go_token=edge.token, client_type="seamark-agent", reports=True)
        await link.call(StreamType.AUTH, tunnel.Auth(version=("3",), extra=extra), tunnel.AuthAnswer)
        bound = await link.call(StreamType.BIND, tunnel.Bind(proto="tcp"), tunnel.BindAnswer)
        detail = "\x1b[31mred\x00 authtoken=very-private " + "x" * 100_000
        report = tunnel.UpstreamReport(id=bound.id, reachable=False, detail=detail)
        await link.call(StreamType.REPORT, report, tunnel.Outcome)
        shown = await asyncio.to_thread(upstream_of, edge, bound.url)
        assert shown is not None
        assert len(shown["detail"]) <= 256
        assert "very-private" not in shown["detail"]
        assert all(ord(char) >= 32 for char in shown["detail"])
        foreign = tunnel.UpstreamReport(id="tn_of_another", reachable=True)
        with pytest.raises(Refused, match="no endpoint with the id 'tn_of_another'"):
            await link.call(StreamType.REPORT, foreign, tunnel.Outcome)
        for answers in (b"not json", b'{"Reachable": "yes"}', b'{"Detail": "' + b"y" * 20_000, b"{}", b""):
            link.answers = answers
            assert (await asyncio.to_thread(check, edge, bound.url))["reachable"] is False
        link.close()
        await link.closed

    asyncio.run(case())


def test_an_upstream_with_tls_is_reachable_when_its_certificate_is_good(
    edge: RunningEdge, agents: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    context, _ = server_tls(tmp_path_factory.mktemp("tls"), "upstream.test")

    def talk(raw: socket.socket) -> None:
        with suppress(ssl.SSLError), context.wrap_socket(raw, server_side=True) as secure:
            secure.recv(10)

    agent = connected(agents, "seamark", edge)
    with service(talk) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tls://{upstream}")["url"]
        report = check(edge, url)
    assert report["reachable"] is False
    assert "certificate" in report["detail"]
