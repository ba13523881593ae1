"""Idle clients of one endpoint that take all connections of the edge: other owners, and other sources, are served."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest

from tests.edge.driving import Start, fetch
from tests.edge.running import RunningEdge
from tests.edge.services import dial, echo, http, service

TOTAL, PER_SOURCE = 100, 50
SOURCES = [f"127.0.0.{number}" for number in range(10, 13)]


@pytest.fixture
def small_edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEdge]:
    running = RunningEdge(
        tmp_path_factory.mktemp("crowded") / "state", connections=TOTAL, connections_per_source=PER_SOURCE
    )
    yield running
    running.close()


def crowd(stack: ExitStack, url: str, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Every source opens as many as it may, and leaves them open. `meanwhile` is called after each of them."""
    host, _, port = url.partition("://")[2].rpartition(":")
    for source in SOURCES:
        for _ in range(PER_SOURCE):
            with suppress(ConnectionError):  # what is beyond its share is reset
                stack.enter_context(socket.create_connection((host, int(port)), 5, source_address=(source, 0)))
            meanwhile()


def answers(url: str) -> None:
    with dial(url) as client:
        client.sendall(b"fine")
        assert client.recv(10) == b"fine"


def metric(edge: RunningEdge, name: str) -> float:
    return float(next((line.rpartition(" ")[2] for line in edge.get("/metrics").splitlines() if name in line), 0))


def test_idle_clients_of_one_owner_keep_no_client_of_another_out(small_edge: RunningEdge, agents: Start) -> None:
    edge = small_edge
    token = edge.api("POST", "/credentials", {"description": "another tenant"})[1]["token"]
    large, small = agents("seamark"), agents("seamark")
    large.must("connect", **edge.connection())
    small.must("connect", **{**edge.connection(), "token": token})
    with service(echo) as upstream, service(http(b"hello")) as web, ExitStack() as stack:
        crowded = large.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        quiet = small.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        name = f"http://small.edge.localhost:{edge.ports['http_port']}"
        small.must("forward", url=name, upstream=f"tcp://{web}")
        crowd(stack, crowded)
        for _ in range(20):
            answers(quiet)
            assert b"hello" in fetch(name, edge)
            answers(crowded)  # from a source that has none yet
        assert edge.get("/readyz") == "ready, but the public connections are at their limit\n"
        assert metric(edge, 'limit_reached_total{outcome="displaced",port="public"}') >= 1
        assert metric(edge, 'limit_reached_total{outcome="refused",port="public"}') >= 1
    assert edge.log.count("the limit of connections is reached") == 1
    assert "Traceback" not in edge.log


def test_a_connection_in_use_is_not_closed_for_another_while_idle_ones_are_there(
    small_edge: RunningEdge, agents: Start
) -> None:
    agent = agents("seamark")
    agent.must("connect", **small_edge.connection())
    with service(echo) as upstream, ExitStack() as stack:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        host, _, port = url.partition("://")[2].rpartition(":")
        used = stack.enter_context(socket.create_connection((host, int(port)), 5, source_address=(SOURCES[0], 0)))

        def use() -> None:
            used.sendall(b"still")
            assert used.recv(10) == b"still"

        crowd(stack, url, use)
        for _ in range(40):
            use()
            with dial(url) as client:
                client.sendall(b"fine")
                assert client.recv(10) == b"fine"
