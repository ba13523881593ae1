"""Floods at the ports of a running edge: an honest client does not notice, and memory stays bounded."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import quote

import pytest

from tests.edge.running import RunningEdge
from tests.edge.services import read_all
from tests.hostile.edge import floods
from tests.hostile.edge.run import FLOOD_MB, Scene, scene

BLOCK_SECONDS = 0.25  # of the edge's own CPU time: that of a machine that is shared would tell nothing
STALL_MS = 1500.0

FELT = [
    "agents: flood of unknown frames",
    "agents: flood of resets",
    "agents: flood of unknown frames with a token",
    "agents: flood of empty data with a token",
    "agents: flood of small data with a token",
    "agents: flood of opened and reset streams with a token",
    "agents: flood of new connections",
    "api: flood of endless fields",
    "ops: flood of endless fields",
    "api: flood of chunk extensions",
    "tls: flood of small records",
]


@pytest.fixture(scope="module")
def stage() -> Iterator[Scene]:
    with scene() as found:
        time.sleep(0.5)
        yield found


@pytest.mark.parametrize("name", FELT)
def test_an_honest_client_does_not_notice_a_flood(stage: Scene, name: str) -> None:
    cases = {f"{case.port}: {case.name}": case for case in floods.cases(stage.edge, stage.token())}
    before = stage.memory()
    stage.period()
    asyncio.run(floods.run(cases[name]))
    held = stage.memory() - before
    time.sleep(0.5)
    period = stage.period()
    assert period["failures"] == []
    assert period["p99_ms"] < STALL_MS
    assert stage.metric("seamark_loop_longest_block_seconds") < BLOCK_SECONDS
    assert held < FLOOD_MB
    assert stage.metric("seamark_edge_failures_total") == 0


def test_a_peer_without_a_token_that_sends_what_no_agent_sends_is_closed_at_once(stage: Scene) -> None:
    began = time.monotonic()
    for name, (first, blob) in floods.frames().items():
        reader_closed = asyncio.run(floods.closed(stage.edge, first + blob))
        assert reader_closed, name
    assert time.monotonic() - began < 10  # and not by the deadline for authentication


def test_a_head_without_end_is_answered_with_an_error_and_closed(edge: RunningEdge) -> None:
    long, many = b"X: " + b"a" * 10_000, (b"X: " + b"a" * 8000 + b"\r\n") * 20
    for head, status in ((long, b"400"), (many, b"431")):
        with socket.create_connection(("127.0.0.1", edge.ports["api_port"]), 10) as client:
            client.sendall(b"GET / HTTP/1.1\r\n" + head)
            assert read_all(client).split(b" ")[1] == status


def test_requests_behind_one_that_is_refused_are_not_answered(edge: RunningEdge) -> None:
    with socket.create_connection(("127.0.0.1", edge.ports["api_port"]), 10) as client:
        client.sendall(b"GET /endpoints HTTP/1.1\r\nHost: a\r\n\r\n" * 20)
        assert read_all(client).count(b"HTTP/1.1 401") == 1


def test_an_edge_that_is_stopped_does_not_wait_for_bodies_that_never_end(own_edge: RunningEdge) -> None:
    head = b"POST /endpoints HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %b\r\nContent-Length: 1000\r\n\r\nx"
    with ExitStack() as stack:
        for port in ("api_port", "ops_port"):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", own_edge.ports[port]), 10))
            client.sendall(head % own_edge.api_key.encode())
        time.sleep(0.3)
        began = time.monotonic()
        own_edge.process.send_signal(signal.SIGTERM)
        own_edge.process.wait(20)
    assert time.monotonic() - began < 4


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=101", "limit=-1", "limit=x", "limit=" + "9" * 500, "limit=٣", "before_id=x", "before_id=ep_"],
)
def test_a_limit_or_a_before_id_that_is_none_is_refused(edge: RunningEdge, query: str) -> None:
    status, answer = edge.api("GET", f"/endpoints?{quote(query, safe='=')}")
    assert status == 400
    assert query.partition("=")[0] in answer["msg"]
