"""Anonymous clients that never finish what they start keep no client out that has a token or a key."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.edge.driving import Start, connected
from tests.edge.running import RunningEdge
from tests.edge.services import eventually
from tests.edge.test_crowds import memory

UNPROVEN = 40
SOURCES = [f"127.0.0.{number}" for number in range(10, 16)]
PER_SOURCE = 150
MB = 1_000_000


def client_hello() -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(incoming, outgoing, server_hostname="a.edge.localhost")
    with suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


@contextmanager
def flood(port: int, first: bytes) -> Iterator[list[socket.socket]]:
    """From several sources, as many connections as the port takes, again and again: each starts and never goes on."""
    over = threading.Event()
    held: list[socket.socket] = []

    def run(source: str) -> None:
        mine: list[socket.socket] = []
        while not over.is_set():
            with suppress(OSError):
                client = socket.create_connection(("127.0.0.1", port), 5, source_address=(source, 0))
                mine.append(client)
                held.append(client)
                client.sendall(first)
            if len(mine) > PER_SOURCE:
                mine.pop().close()
            over.wait(0.002)

    threads = [threading.Thread(target=run, args=(source,)) for source in SOURCES]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: len(held) > 2 * PER_SOURCE * len(SOURCES), "the flood is at its height")
        yield held
    finally:
        over.set()
        for thread in threads:
            thread.join()
        for client in held:
            client.close()


@pytest.fixture
def small_edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEdge]:
    """The limits are far below what the flood holds."""
    running = RunningEdge(
        tmp_path_factory.mktemp("small-edge") / "state",
        unproven_connections=UNPROVEN,
        agent_connections=300,
        api_connections=100,
        connections=200,
    )
    yield running
    running.close()


def agent_connects(edge: RunningEdge, agents: Start) -> None:
    connected(agents, "seamark", edge)


def key_is_answered(edge: RunningEdge, _: Start) -> None:
    for _attempt in range(20):
        assert edge.api("GET", "/endpoints")[0] == 200


@pytest.mark.parametrize(
    ("port", "first", "honest"),
    [
        ("agent_port", client_hello(), agent_connects),
        ("agent_port", b"", agent_connects),
        ("api_port", b"GET /endpoints HTTP/1.1\r\nHost: a\r\nX: ", key_is_answered),
        ("api_port", b"GET /endpoints HTTP/1.1\r\nHost: a\r\n\r\n", key_is_answered),
    ],
    ids=["agents, handshake", "agents, silent", "API, half a head", "API, no key"],
)
def test_during_a_flood_those_with_a_token_or_a_key_are_served(
    small_edge: RunningEdge,
    agents: Start,
    port: str,
    first: bytes,
    honest: Callable[[RunningEdge, Start], None],
) -> None:
    before = memory(small_edge)
    with flood(small_edge.ports[port], first):
        for _ in range(3):
            honest(small_edge, agents)
        assert memory(small_edge) - before < 20 * MB
    assert "Traceback" not in small_edge.log


def test_a_connection_that_is_closed_for_a_newer_one_sees_its_end(small_edge: RunningEdge) -> None:
    hello, held = client_hello(), list[socket.socket]()
    try:
        for _ in range(UNPROVEN + 5):
            held.append(socket.create_connection(("127.0.0.1", small_edge.ports["agent_port"]), 5))
            held[-1].sendall(hello)
            assert held[-1].recv(1)  # the server's part of the handshake
        for client in held[:5]:
            client.settimeout(5)
            with suppress(ConnectionResetError):
                while client.recv(4096):
                    pass
        held[-1].recv(65536)
        held[-1].setblocking(False)
        with pytest.raises(BlockingIOError):  # the newest one is waited for
            held[-1].recv(1)
    finally:
        for client in held:
            client.close()
