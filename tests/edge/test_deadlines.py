"""Each phase of a connection has a deadline on every port, and each port has limits per source."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.edge.running import RunningEdge
from tests.edge.services import eventually, read_all

HEAD, REQUEST, IDLE = 0.6, 1.2, 1.8
PORTS = ("api_port", "ops_port", "agent_port", "ingress_port", "http_port", "tls_port")


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEdge]:
    state = tmp_path_factory.mktemp("hasty") / "state"
    running = RunningEdge(
        state,
        head_seconds=HEAD,
        request_seconds=REQUEST,
        idle_seconds=IDLE,
        api_connections_per_source=10,
        unknown_requests_per_minute=5,
    )
    yield running
    running.close()


def connection(edge: RunningEdge, port: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", edge.ports[port]), 10)


def posting(edge: RunningEdge, length: int) -> bytes:
    """The head of a request with a body."""
    head = ("POST /ip_policies HTTP/1.1", "Host: a", f"Authorization: Bearer {edge.api_key}", "Connection: close")
    return "\r\n".join((*head, f"Content-Length: {length}", "", "")).encode()


def lived(client: socket.socket, feed: Callable[[], bytes] = bytes, seconds: float = 8.0) -> float:
    """How long the edge keeps a client that goes on sending a little."""
    began = time.monotonic()
    client.settimeout(0.1)
    while time.monotonic() - began < seconds:
        try:
            if data := feed():
                client.sendall(data)
            if not client.recv(65536):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


@pytest.mark.parametrize("port", PORTS)
def test_a_client_that_says_nothing_is_closed(hasty: RunningEdge, port: str) -> None:
    with connection(hasty, port) as client:
        assert HEAD * 0.8 < lived(client) < HEAD + 2


@pytest.mark.parametrize("port", ["api_port", "ops_port", "http_port"])
def test_a_head_that_comes_byte_by_byte_is_cut_off(hasty: RunningEdge, port: str) -> None:
    with connection(hasty, port) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n")
        assert lived(client, lambda: b"X-A: b\r\n") < HEAD * 2 + 2


@pytest.mark.parametrize("port", ["agent_port", "ingress_port", "tls_port"])
def test_a_handshake_that_stops_in_its_middle_is_cut_off(hasty: RunningEdge, port: str) -> None:
    with connection(hasty, port) as client:
        client.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert lived(client) < HEAD * 2 + 2


def test_a_body_that_comes_byte_by_byte_is_cut_off(hasty: RunningEdge) -> None:
    with connection(hasty, "api_port") as client:
        client.sendall(posting(hasty, 9999))
        assert lived(client, lambda: b" ") < REQUEST + 2


def test_a_body_that_stops_is_answered_with_the_limit_and_is_no_internal_error(hasty: RunningEdge) -> None:
    with connection(hasty, "api_port") as client:
        client.sendall(posting(hasty, 9999))
        answer = read_all(client)
    assert answer.split(b" ")[1] == b"408"
    body = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert (body["error_code"], body["status_code"]) == ("ERR_NGROK_408", 408)
    assert body["msg"] == f"the request did not arrive within {REQUEST:g} s (request_seconds)"
    metrics = hasty.get("/metrics")
    assert 'method="POST",resource="ip_policies",status="408"' in metrics
    assert "seamark_edge_failures_total{" not in metrics


@pytest.mark.parametrize(("port", "path"), [("ops_port", "/healthz"), ("api_port", "/endpoints")])
def test_a_connection_between_requests_is_closed_after_a_while_also_in_the_middle_of_a_head(
    hasty: RunningEdge, port: str, path: str
) -> None:
    start = f"GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {hasty.api_key}\r\n".encode()
    with connection(hasty, port) as client:
        client.sendall(start + b"\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
        client.sendall(start)
        assert IDLE * 0.8 < lived(client, lambda: b"X-A: b\r\n") < IDLE + 2


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(5000)), b"400"),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n", b"400"),
        (b"GET /" + b"y" * 100_000 + b" HTTP/1.1\r\n", b"400"),
        (b"POST /ip_policies HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n", b"400"),
        (b"POST /ip_policies HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"400"),
        (b"GET /endpoints HTTP/1.1\r\nHost: [\r\nAuthorization: Bearer {key}\r\n", b"400"),
        (b"GET /endpoints HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nAuthorization: Bearer {key}\r\n", b"415"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \xff\xfe\r\n", b"401"),
    ],
    ids=["many fields", "long field", "long path", "two lengths", "length and chunks", "host", "encoded", "token"],
)
def test_a_bad_head_is_answered_with_an_error(edge: RunningEdge, head: bytes, status: bytes) -> None:
    with connection(edge, "api_port") as client:
        client.sendall(head.replace(b"{key}", edge.api_key.encode()) + b"Connection: close\r\n\r\n")
        assert read_all(client).split(b" ")[1] == status


def test_one_source_gets_only_so_many_connections_to_the_api(hasty: RunningEdge) -> None:
    with ExitStack() as stack:
        held = [stack.enter_context(connection(hasty, "api_port")) for _ in range(12)]
        for client in held:
            client.settimeout(0.03)
        assert sum(closed(client) for client in held) == 2
        assert hasty.get("/readyz") == "ready\n"  # another port, other slots
    eventually(lambda: hasty.api("GET", "/endpoints")[0] == 200, "the slots came back")


def closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_who_has_no_key_gets_a_small_budget_and_keeps_nobody_with_a_key_out(hasty: RunningEdge) -> None:
    answers = [hasty.api("GET", "/endpoints", key="wrong") for _ in range(8)]
    assert [status for status, _ in answers][-1] == 429
    assert "requests a minute" in answers[-1][1]["msg"]
    assert hasty.api("GET", "/endpoints")[0] == 200


def test_strange_methods_do_not_become_metrics(edge: RunningEdge) -> None:
    for number in range(50):
        with connection(edge, "api_port") as client:
            client.sendall(b"M%d / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % number)
            read_all(client)
    methods = [line for line in edge.get("/metrics").splitlines() if line.startswith("seamark_edge_api_requests_total")]
    assert not [line for line in methods if 'method="M' in line]


def test_deep_and_odd_bodies_are_refused_with_words(edge: RunningEdge, tmp_path: Path) -> None:
    for body in (b'{"a":' * 5000, b'{"a":' * 500 + b"1" + b"}" * 500, b"[]", b"\xff", b"{", b'{"metadata":"\\ud800"}'):
        with connection(edge, "api_port") as client:
            client.sendall(posting(edge, len(body)) + body)
            answer = read_all(client)
        assert answer.split(b" ")[1] == b"400"
        assert "the body is no JSON object" in json.loads(answer.partition(b"\r\n\r\n")[2])["msg"]
