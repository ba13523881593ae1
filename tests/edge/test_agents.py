"""The official SDKs, unmodified, do their ordinary work against a running edge."""

from __future__ import annotations

import hashlib
import socket
import ssl
from http.client import HTTPConnection

import pytest

from tests.edge.driving import Start, connected, every_sdk, fetch
from tests.edge.running import RunningEdge
from tests.edge.services import (
    dial,
    digest,
    echo,
    eventually,
    free_port,
    http,
    http_echo,
    read_all,
    says,
    sends,
    service,
)
from tests.edge.tls import server_tls


@every_sdk
def test_bytes_go_both_ways_through_a_tcp_endpoint(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent = connected(agents, sdk, edge)
    with service(echo) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        with dial(url) as client:
            for word in (b"one", b"two" * 1000):
                client.sendall(word)
                got = b""
                while len(got) < len(word):
                    got += client.recv(65536)
                assert got == word


@every_sdk
def test_large_bodies_arrive_whole(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent = connected(agents, sdk, edge)
    size = 20_000_000
    with service(sends(size)) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        with dial(url, 60) as client:
            client.sendall(b"!")
            body = read_all(client)
    want = (bytes(range(256)) * (size // 256 + 1))[:size]
    assert hashlib.sha256(body).digest() == hashlib.sha256(want).digest()


@pytest.mark.parametrize("sdk", ["python", "seamark"])  # the Go SDK's forwarder closes both halves at the first end
def test_a_half_close_travels_and_a_large_upload_arrives_whole(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent = connected(agents, sdk, edge)
    body = bytes(range(256)) * 40_000
    with service(digest) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        with dial(url, 60) as client:
            client.sendall(body)
            client.shutdown(socket.SHUT_WR)
            assert read_all(client) == hashlib.sha256(body).hexdigest().encode()


@every_sdk
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_http_endpoints_are_reached_by_host(edge: RunningEdge, agents: Start, sdk: str, scheme: str) -> None:
    agent = connected(agents, sdk, edge)
    name = f"{sdk}-{scheme}.edge.localhost"
    with service(http(b"hello by name")) as upstream:
        url = agent.must("forward", url=f"{scheme}://{name}", upstream=f"http://{upstream}")["url"]
        assert url == f"{scheme}://{name}:{edge.ports['http_port' if scheme == 'http' else 'tls_port']}"
        assert fetch(url, edge).endswith(b"hello by name")
    if scheme == "http":
        missing = fetch(url, edge, host="nobody.edge.localhost")
        assert missing.startswith(b"HTTP/1.1 404")
        assert b"ERR_NGROK_3200" in missing


@every_sdk
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_http_bodies_go_both_ways_on_one_connection(edge: RunningEdge, agents: Start, sdk: str, scheme: str) -> None:
    agent = connected(agents, sdk, edge)
    host, body = f"echo-{sdk}-{scheme}.edge.localhost", bytes(range(256)) * 8000
    with service(http_echo) as upstream:
        agent.must("forward", url=f"{scheme}://{host}", upstream=f"http://{upstream}")
        connection = HTTPConnection(
            "127.0.0.1", edge.ports["http_port" if scheme == "http" else "tls_port"], timeout=60
        )
        connection.connect()
        if scheme == "https":
            context = ssl.create_default_context(cafile=edge.ca)
            connection.sock = context.wrap_socket(connection.sock, server_hostname=host)
        for _ in range(2):
            connection.request("POST", "/", body, {"Host": host})
            answer = connection.getresponse()
            assert (answer.status, hashlib.sha256(answer.read()).digest()) == (200, hashlib.sha256(body).digest())
        connection.close()


@every_sdk
def test_tls_is_passed_through_to_the_upstream_by_name(
    edge: RunningEdge, agents: Start, sdk: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The upstream ends TLS with a certificate that the edge never saw."""
    agent = connected(agents, sdk, edge)
    directory = tmp_path_factory.mktemp("tls")
    context, ca = server_tls(directory, "pass.edge.localhost")

    def talk(raw: socket.socket) -> None:
        with context.wrap_socket(raw, server_side=True) as secure:
            secure.sendall(b"from behind " + secure.recv(100))

    with service(talk) as upstream:
        made = agent.must("forward", url="tls://pass.edge.localhost", upstream=f"tcp://{upstream}")
        raw = socket.create_connection(("127.0.0.1", edge.ports["tls_port"]), 10)
        with ssl.create_default_context(cafile=ca).wrap_socket(raw, server_hostname="pass.edge.localhost") as client:
            client.sendall(b"tls")
            assert client.recv(100) == b"from behind tls"
        agent.must("close", id=made["id"])


@every_sdk
@pytest.mark.parametrize("version", ["1", "2"])
def test_the_upstream_learns_the_client_by_the_proxy_protocol(
    edge: RunningEdge, agents: Start, sdk: str, version: str
) -> None:
    agent = connected(agents, sdk, edge)
    with service(echo) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}", proxyproto=version)["url"]
        with dial(url) as client:
            client.sendall(b"body")
            mine = client.getsockname()
            got = b""
            while not got.endswith(b"body"):
                got += client.recv(1000)
    if version == "1":
        assert got.startswith(f"PROXY TCP4 127.0.0.1 127.0.0.1 {mine[1]} ".encode())
    else:
        assert got.startswith(b"\r\n\r\n\0\r\nQUIT\n\x21\x11")
        assert int.from_bytes(got[24:26], "big") == mine[1]


@every_sdk
def test_a_client_that_vanishes_leaves_every_other_tunnel_working(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent = connected(agents, sdk, edge)
    with service(sends(50_000_000)) as big, service(echo) as small:
        download = agent.must("forward", url="tcp://", upstream=f"tcp://{big}")["url"]
        other = agent.must("forward", url="tcp://", upstream=f"tcp://{small}")["url"]
        for _ in range(5):
            with dial(download) as client:
                client.sendall(b"!")
                client.recv(1000)
        with dial(other) as client:
            client.settimeout(5)
            client.sendall(b"still here")
            assert client.recv(100) == b"still here"


@pytest.mark.parametrize("sdk", ["go", "seamark"])  # the Python SDK has no way to ask for pooling
def test_a_pool_spreads_connections_and_survives_the_loss_of_a_member(
    edge: RunningEdge, agents: Start, sdk: str
) -> None:
    first, second = connected(agents, sdk, edge), connected(agents, "go", edge)
    with service(says(b"A")) as one, service(says(b"B")) as two:
        url = first.must("forward", url="tcp://", upstream=f"tcp://{one}", pooling=True)["url"]
        second.must("forward", url=url, upstream=f"tcp://{two}", pooling=True)

        def ask() -> bytes:
            with dial(url) as client:
                return read_all(client)

        assert sorted(ask() for _ in range(10)) == [b"A"] * 5 + [b"B"] * 5
        first.kill()
        eventually(lambda: {ask() for _ in range(4)} == {b"B"}, "the other member serves alone")


@pytest.mark.parametrize("sdk", ["go", "seamark"])
def test_a_member_whose_service_is_down_is_passed_over_in_the_attempt(
    edge: RunningEdge, agents: Start, sdk: str
) -> None:
    first, second = connected(agents, sdk, edge), connected(agents, "go", edge)
    with service(says(b"up")) as up:
        url = first.must("forward", url="tcp://", upstream=f"tcp://127.0.0.1:{free_port()}", pooling=True)["url"]
        second.must("forward", url=url, upstream=f"tcp://{up}", pooling=True)
        for _ in range(6):
            with dial(url) as client:
                assert read_all(client) == b"up"


def test_no_secret_is_in_the_log(edge: RunningEdge, agents: Start) -> None:
    connected(agents, "python", edge)
    text = edge.log
    assert "agent joined" in text
    assert edge.token not in text
    assert edge.api_key not in text
    assert "PRIVATE KEY" not in text
