"""Clients that send nothing more: served while there is traffic, and not kept for ever."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from seamark_runtime.joined import RESET
from tests.edge.driving import Start, connected
from tests.edge.running import RunningEdge
from tests.edge.services import dial, digest, eventually, free_port, give_back, service

OPEN = 'seamark_edge_open_connections{proto="tcp"}'


@pytest.fixture
def strict_edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEdge]:
    running = RunningEdge(tmp_path_factory.mktemp("strict") / "state", half_closed_seconds=1)
    yield running
    running.close()


@pytest.fixture
def stuck() -> Iterator[str]:
    """A service whose connections are never accepted, nor read."""
    port = free_port()
    with socket.create_server(("127.0.0.1", port), backlog=8):
        yield f"127.0.0.1:{port}"
    give_back(port)


def half_closes(client: socket.socket) -> None:
    client.sendall(b"one request")
    client.shutdown(socket.SHUT_WR)


def leaves_in_the_middle(client: socket.socket) -> None:
    """Sends until nothing more is taken, so that the edge does not read that it is reset."""
    client.settimeout(0.5)
    with suppress(TimeoutError):
        while True:
            client.sendall(bytes(1 << 20))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    client.close()


@pytest.mark.parametrize("leaves", [half_closes, leaves_in_the_middle])
def test_a_client_that_left_a_stuck_upstream_is_not_kept_for_ever(
    strict_edge: RunningEdge, agents: Start, stuck: str, leaves: Callable[[socket.socket], None]
) -> None:
    url = connected(agents, "seamark", strict_edge).must("forward", url="tcp://", upstream=f"tcp://{stuck}")["url"]
    with dial(url) as client:
        leaves(client)
        eventually(lambda: f"{OPEN} 1.0" in strict_edge.get("/metrics"), "the connection is open", 5)
        eventually(lambda: f"{OPEN} 0.0" in strict_edge.get("/metrics"), "the connection is closed", 20)


def test_a_client_that_half_closed_gets_its_answer_and_one_that_did_not_stays(
    strict_edge: RunningEdge, agents: Start, stuck: str
) -> None:
    agent = connected(agents, "seamark", strict_edge)
    waiting = agent.must("forward", url="tcp://", upstream=f"tcp://{stuck}")["url"]
    with service(digest) as upstream, dial(waiting) as open_client:
        open_client.sendall(b"one request")
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        for _ in range(3):
            with dial(url) as client:
                half_closes(client)
                assert client.recv(100)
        open_client.settimeout(8)  # longer than the deadline and a sweep
        with pytest.raises(TimeoutError):
            open_client.recv(1)
