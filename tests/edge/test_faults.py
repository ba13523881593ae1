"""Bad input, faults, attackers: a clear error or a closed connection, bounded memory, and all others go on."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from seamark.providers.edge.seamark import seamark_edge
from seamark_edge.wire import tunnel as wire
from seamark_edge.wire.muxado import WINDOW, data_header, wndinc_frame
from seamark_edge.wire.muxado.frames import SYN
from seamark_runtime.errors import Retry
from tests.edge.driving import tunnel
from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram
from tests.edge.services import dial, digest, echo, eventually, http, read_all, sends, service
from tests.edge.tls import pair

Start = Callable[[str], AgentProgram]


@contextmanager
def raw_agent(edge: RunningEdge) -> Iterator[ssl.SSLSocket]:
    raw = socket.create_connection(("127.0.0.1", edge.ports["agent_port"]), 10)
    with ssl.create_default_context(cafile=edge.ca).wrap_socket(raw, server_hostname="127.0.0.1") as connection:
        yield connection


def memory(edge: RunningEdge) -> int:
    return int(Path(f"/proc/{edge.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def other(edge: RunningEdge, agents: Start) -> Iterator[Callable[[], None]]:
    """Another user's tunnel on the same edge; calling it proves that it works."""
    with tunnel(edge, agents, 5) as (_url, works):
        yield works


def ended(connection: socket.socket, seconds: float = 5.0) -> bool:
    """Whether the edge closes the connection by itself, in time."""
    connection.settimeout(seconds)
    try:
        read_all(connection)
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


@pytest.mark.parametrize(
    "frames",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        data_header(2, 4, SYN) + b"\0\0\0\1",
        data_header(99, 4) + b"data",
        wndinc_frame(1, 0),
        data_header(1, 0xFFFFFF, SYN) + b"\0" * (WINDOW * 2),
        b"".join(data_header(2 * n + 1, 4, SYN) + b"\0\0\0\0" for n in range(100)),
        b"\xff" * 64,
    ],
    ids=["http", "parity", "never opened", "zero", "over the window", "many streams", "noise"],
)
def test_an_agent_that_breaks_the_protocol_is_closed(
    edge: RunningEdge, other: Callable[[], None], frames: bytes
) -> None:
    with raw_agent(edge) as connection:
        with suppress(OSError):
            connection.sendall(frames)
        assert ended(connection)


@pytest.mark.parametrize(
    "body", [b'{"Extra":' + b"[" * 30000 + b"]" * 30000 + b"}", b"x" * 70000, b"[]}", b'{"Extra":{"Authtoken":5}}']
)
def test_a_bad_request_before_authentication_is_answered_with_an_error(edge: RunningEdge, body: bytes) -> None:
    with raw_agent(edge) as connection:
        data = b"\0\0\0\0" + body
        connection.sendall(data_header(1, len(data), SYN) + data)
        answer = b""
        while b"Error" not in answer:
            piece = connection.recv(65536)
            assert piece, "closed without an answer"
            answer += piece
    assert b'"Error":""' not in answer


def test_a_stream_of_an_unknown_type_is_reset(edge: RunningEdge) -> None:
    with raw_agent(edge) as connection:
        connection.sendall(data_header(1, 4, SYN) + b"\0\0\0\x63")
        assert connection.recv(100)[3] >> 4 == 0


def test_nothing_is_bound_before_authentication(edge: RunningEdge) -> None:
    with raw_agent(edge) as connection:
        body = b"\0\0\0\1" + wire.encode(wire.Bind(proto="tcp"))
        connection.sendall(data_header(1, len(body), SYN) + body)
        assert b"not authenticated" in connection.recv(1000)


def test_an_agent_that_never_authenticates_is_closed(tmp_path_factory: pytest.TempPathFactory) -> None:
    hasty = RunningEdge(tmp_path_factory.mktemp("hasty") / "state", head_seconds=0.5)
    try:
        with raw_agent(hasty) as connection:
            assert ended(connection)
        for port in (hasty.ports["http_port"], hasty.ports["tls_port"]):
            with socket.create_connection(("127.0.0.1", port), 10) as slow:
                slow.sendall(b"G" if port == hasty.ports["http_port"] else b"\x16\x03")
                assert ended(slow)
    finally:
        hasty.close()


def test_one_address_gets_only_so_many_connections(tmp_path_factory: pytest.TempPathFactory, agents: Start) -> None:
    small = RunningEdge(tmp_path_factory.mktemp("small") / "state", connections_per_source=20)
    try:
        agent = agents("seamark")
        agent.must("connect", **small.connection())
        with service(echo) as upstream, ExitStack() as stack:
            url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
            held = [stack.enter_context(dial(url)) for _ in range(20)]
            for client in held:
                client.sendall(b"x")
                assert client.recv(1) == b"x"
            with suppress(ConnectionResetError), dial(url) as late:
                assert late.recv(1) == b""
            held[0].close()

            def room_again() -> bool:
                with dial(url) as client:
                    client.sendall(b"y")
                    return client.recv(1) == b"y"

            eventually(room_again, "a place became free")
    finally:
        small.close()


@pytest.mark.parametrize("sdk", ["seamark", "go", "python"])
def test_clients_that_never_read_hold_a_window_each_and_no_more(
    edge: RunningEdge, agents: Start, other: Callable[[], None], sdk: str
) -> None:
    agent = agents(sdk)
    agent.must("connect", **edge.connection())
    window = 1024 * 1024 if sdk == "seamark" else WINDOW
    with service(sends(200_000_000)) as upstream, ExitStack() as stack:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        before = memory(edge)
        for _ in range(20):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            host, _, port = url.partition("://")[2].rpartition(":")
            client.connect((host, int(port)))
            client.sendall(b"!")
        deadline, most = time.monotonic() + 3, 0
        while time.monotonic() < deadline:
            most = max(most, memory(edge) - before)
            time.sleep(0.1)
        other()
        assert most < 20 * window * 1.3 + 30_000_000


@pytest.mark.parametrize("sdk", ["seamark", "go", "python"])
def test_an_agent_that_stops_reading_holds_a_window_for_each_client_and_no_more(
    own_edge: RunningEdge, agents: Start, sdk: str
) -> None:
    agent, awake = agents(sdk), agents("seamark")
    for one in (agent, awake):
        one.must("connect", **own_edge.connection())
    window = 1024 * 1024 if sdk == "seamark" else WINDOW
    with service(digest) as upstream, service(echo) as small, ExitStack() as stack:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        other = awake.must("forward", url="tcp://", upstream=f"tcp://{small}")["url"]
        agent.process.send_signal(signal.SIGSTOP)
        try:
            before = memory(own_edge)
            for _ in range(20):
                client = stack.enter_context(dial(url))
                client.settimeout(0.2)
                with suppress(TimeoutError):
                    client.sendall(b"x" * 20_000_000)
            assert memory(own_edge) - before < 20 * window * 1.3 + 40_000_000
            with dial(other) as client:
                client.sendall(b"fine")
                assert client.recv(10) == b"fine"
        finally:
            agent.process.send_signal(signal.SIGCONT)


def test_the_edge_binds_what_it_is_told_to_bind_and_nothing_else(own_edge: RunningEdge, agents: Start) -> None:
    told = {port for name, port in own_edge.ports.items()}
    assert listening(own_edge) == {("127.0.0.1", port) for port in told}
    agent = agents("go")
    agent.must("connect", **own_edge.connection())
    made = agent.must("forward", url="tcp://", upstream="tcp://127.0.0.1:1")
    port = int(made["url"].rpartition(":")[2])
    assert listening(own_edge) == {("127.0.0.1", port) for port in told | {port}}
    agent.must("close", id=made["id"])
    eventually(lambda: listening(own_edge) == {("127.0.0.1", port) for port in told}, "the port is closed again")


def listening(edge: RunningEdge) -> set[tuple[str, int]]:
    """The addresses that the process itself listens on, as the kernel has them."""
    mine = {str(link.readlink()) for link in Path(f"/proc/{edge.process.pid}/fd").iterdir() if link.is_symlink()}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{edge.process.pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            host, _, port = fields[1].partition(":")
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in mine:
                found.add((socket.inet_ntoa(bytes.fromhex(host)[::-1]) if len(host) == 8 else host, int(port, 16)))
    return found


def test_the_api_is_served_with_tls_by_the_edges_ca(tmp_path_factory: pytest.TempPathFactory) -> None:
    secure = RunningEdge(tmp_path_factory.mktemp("secure") / "state", api_tls=True)
    url = f"https://127.0.0.1:{secure.ports['api_port']}"

    async def case() -> None:
        provider = seamark_edge(url, secure.api_key, secure.ca)
        await provider.probe()
        await provider.close()
        stranger = seamark_edge(url, secure.api_key)  # trusts the public CAs only
        with pytest.raises(Retry):
            await stranger.probe()
        await stranger.close()

    try:
        assert secure.said[3].split()[-1] == url
        asyncio.run(case())
    finally:
        secure.close()


def test_an_upstream_that_vanishes_mid_body_never_looks_complete(edge: RunningEdge, agents: Start) -> None:
    agent = agents("seamark")
    agent.must("connect", **edge.connection())
    with service(sends(100_000_000)) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        with dial(url) as client:
            client.sendall(b"!")
            client.recv(1000)
            agent.kill()
            with pytest.raises(ConnectionResetError):
                read_all(client)


def test_a_slow_hello_in_pieces_is_understood(edge: RunningEdge, agents: Start) -> None:
    agent = agents("go")
    agent.must("connect", **edge.connection())
    with service(http(b"patience")) as upstream:
        agent.must("forward", url="http://slow.edge.localhost", upstream=f"http://{upstream}")
        with socket.create_connection(("127.0.0.1", edge.ports["http_port"]), 10) as client:
            for piece in (b"GET / HT", b"TP/1.1\r\nHost: SLOW.edge.loc", b"alhost:80\r\n", b"\r\n"):
                client.sendall(piece)
                time.sleep(0.05)
            assert read_all(client).endswith(b"patience")
        with socket.create_connection(("127.0.0.1", edge.ports["http_port"]), 10) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: slow")
            client.shutdown(socket.SHUT_WR)
            assert read_all(client).startswith(b"HTTP/1.1 400")


def test_an_unknown_name_gets_the_tls_alert_for_it(edge: RunningEdge) -> None:
    context = ssl.create_default_context(cafile=edge.ca)
    raw = socket.create_connection(("127.0.0.1", edge.ports["tls_port"]), 10)
    with raw, pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"):
        context.wrap_socket(raw, server_hostname="nobody.edge.localhost")


def test_a_drain_lets_open_connections_end_and_takes_no_new_ones(own_edge: RunningEdge, agents: Start) -> None:
    agent = agents("go")
    agent.must("connect", **own_edge.connection())
    with service(echo) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        with dial(url) as client:
            client.sendall(b"before")
            assert client.recv(10) == b"before"
            own_edge.process.terminate()

            def closed() -> bool:
                try:
                    dial(url, 1).close()
                except ConnectionRefusedError:
                    return True
                return False

            eventually(closed, "no new connections are taken")
            client.sendall(b"during")
            assert client.recv(10) == b"during"
        own_edge.process.wait(10)
    assert '"connections_cut": 0' in own_edge.log


def test_an_exchanged_certificate_is_served_without_a_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("pair")

    def put(host: str) -> None:
        certificate, key = pair(host)
        (directory / "cert.pem").write_bytes(certificate)
        (directory / "key.pem").write_bytes(key)

    def served(edge: RunningEdge) -> bytes:
        pem = ssl.get_server_certificate(("127.0.0.1", edge.ports["agent_port"]))
        return ssl.PEM_cert_to_DER_cert(pem)

    put("first.example.com")
    running = RunningEdge(
        directory / "state", agent_cert=str(directory / "cert.pem"), agent_key=str(directory / "key.pem")
    )
    try:
        assert b"first.example.com" in served(running)
        (directory / "cert.pem").write_bytes(pair("half.example.com")[0])  # without its key: not to be used
        put("second.example.com")
        running.process.send_signal(1)
        eventually(lambda: b"second.example.com" in served(running), "the new certificate is served")
    finally:
        running.close()


def test_an_uploaded_certificate_is_served_for_its_domain(edge: RunningEdge, agents: Start, tmp_path: Path) -> None:
    certificate, key = pair("shop.example.com")
    (tmp_path / "ca.pem").write_bytes(certificate)
    _, uploaded = edge.api(
        "POST", "/tls_certificates", {"certificate_pem": certificate.decode(), "private_key_pem": key.decode()}
    )
    assert "private_key_pem" not in uploaded
    edge.api("POST", "/reserved_domains", {"domain": "shop.example.com", "certificate_id": uploaded["id"]})
    agent = agents("go")
    agent.must("connect", **edge.connection())
    with service(http(b"sold")) as upstream:
        agent.must("forward", url="https://shop.example.com", upstream=f"http://{upstream}")
        raw = socket.create_connection(("127.0.0.1", edge.ports["tls_port"]), 10)
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        with context.wrap_socket(raw, server_hostname="shop.example.com") as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: shop.example.com\r\n\r\n")
            assert read_all(client).endswith(b"sold")


def test_a_name_outside_the_edges_domain_is_to_be_reserved_first(edge: RunningEdge, agents: Start) -> None:
    agent = agents("go")
    agent.must("connect", **edge.connection())
    answer = agent.ask("forward", url="https://free.example.com", upstream="http://127.0.0.1:1")
    assert "not reserved" in answer["error"]


def test_a_cloud_endpoint_forwards_to_an_internal_one(edge: RunningEdge, agents: Start) -> None:
    agent = agents("go")
    agent.must("connect", **edge.connection())
    _, address = edge.api("POST", "/reserved_addrs", {})
    policy = '{"on_tcp_connect":[{"actions":[{"type":"forward-internal","config":{"url":"tcp://db.internal:5432"}}]}]}'
    status, cloud = edge.api("POST", "/endpoints", {"url": f"tcp://{address['addr']}", "traffic_policy": policy})
    assert status == 201
    with service(echo) as upstream:
        agent.must("forward", url="tcp://db.internal:5432", upstream=f"tcp://{upstream}")
        with dial(cloud["url"]) as client:
            client.sendall(b"inside")
            assert client.recv(10) == b"inside"
    assert edge.api("DELETE", f"/endpoints/{cloud['id']}")[0] == 204
