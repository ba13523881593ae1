"""The official SDKs, unmodified, do their ordinary work against a running edge."""

from __future__ import annotations

import hashlib
import json
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram
from tests.edge.services import (
    Wire,
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

Start = Callable[[str], AgentProgram]
SDKS = ["python", "go", "seamark"]
every_sdk = pytest.mark.parametrize("sdk", SDKS)
DENY_LOOPBACK = '{"on_tcp_connect":[{"actions":[{"type":"restrict-ips","config":{"deny":["127.0.0.0/8"]}}]}]}'


def connected(agents: Start, sdk: str, edge: RunningEdge) -> AgentProgram:
    agent = agents(sdk)
    agent.must("connect", **edge.connection())
    return agent


def fetch(url: str, edge: RunningEdge, host: str = "") -> bytes:
    """GET over loopback, whatever the name: nothing here depends on a resolver."""
    scheme, _, place = url.partition("://")
    name, _, port = place.rpartition(":")
    raw = socket.create_connection(("127.0.0.1", int(port)), 10)
    if scheme == "https":
        raw = ssl.create_default_context(cafile=edge.ca).wrap_socket(raw, server_hostname=name)
    with raw as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {host or place}\r\nConnection: close\r\n\r\n".encode())
        return read_all(connection)


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
def test_tls_ends_at_the_edge_where_the_policy_says_so(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent = connected(agents, sdk, edge)
    policy = '{"on_tcp_connect":[{"actions":[{"type":"terminate-tls"}]}]}'
    name = f"end-{sdk}.edge.localhost"
    with service(echo) as upstream:
        agent.must("forward", url=f"tls://{name}", upstream=f"tcp://{upstream}", policy=policy)
        raw = socket.create_connection(("127.0.0.1", edge.ports["tls_port"]), 10)
        with ssl.create_default_context(cafile=edge.ca).wrap_socket(raw, server_hostname=name) as client:
            client.sendall(b"plain behind")
            assert client.recv(100) == b"plain behind"


@every_sdk
def test_a_bad_token_is_told(edge: RunningEdge, agents: Start, sdk: str) -> None:
    answer = agents(sdk).ask("connect", **{**edge.connection(), "token": "cr_wrong"})
    assert "ERR_NGROK_107" in answer["error"]


@every_sdk
def test_a_taken_url_is_told_and_free_again_after_it_closes(edge: RunningEdge, agents: Start, sdk: str) -> None:
    first, second = connected(agents, sdk, edge), connected(agents, sdk, edge)
    with service(says(b"first")) as upstream:
        made = first.must("forward", url="tcp://", upstream=f"tcp://{upstream}")
        answer = second.ask("forward", url=made["url"], upstream=f"tcp://{upstream}")
        assert "ERR_NGROK_334" in answer["error"]
        first.must("close", id=made["id"])
        eventually(
            lambda: "error" not in second.ask("forward", url=made["url"], upstream=f"tcp://{upstream}"),
            "the address is free again",
        )


@every_sdk
def test_an_agent_that_reconnects_gets_its_address_back(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent, wire = agents(sdk), Wire(edge.address)
    try:
        agent.must("connect", **{**edge.connection(), "address": wire.address})
        with service(says(b"same place")) as upstream:
            url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
            (before,) = listed(edge, url)
            wire.cut()

            def again() -> bool:
                found = listed(edge, url)
                return bool(found) and found[0]["tunnel_session"] != before["tunnel_session"]

            eventually(again, "the endpoint is back at its address", 30, lambda: edge.log[-3000:])
            with dial(url) as client:
                assert read_all(client) == b"same place"
    finally:
        wire.close()


@every_sdk
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_an_address_is_kept_over_a_restart_of_the_edge(
    own_edge: RunningEdge, agents: Start, sdk: str, end: str
) -> None:
    """The way to the edge is there all the time, as behind a load balancer: the Python SDK's third try would come
    after two minutes only."""
    agent, wire = agents(sdk), Wire(own_edge.address)
    try:
        agent.must("connect", **{**own_edge.connection(), "address": wire.address})
        with service(says(b"same place")) as upstream:
            url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
            getattr(own_edge, end)()
            own_edge.start()

            def again() -> bool:
                with dial(url, 2) as client:
                    return read_all(client) == b"same place"

            eventually(again, "the endpoint is back at its address", 60, lambda: own_edge.log)
    finally:
        wire.close()


@every_sdk
def test_an_option_that_the_edge_cant_do_is_refused_by_name(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent = connected(agents, sdk, edge)
    policy = '{"on_http_request":[{"actions":[{"type":"rate-limit","config":{}}]}]}'
    answer = agent.ask("forward", url="http://limited.edge.localhost", upstream="http://127.0.0.1:1", policy=policy)
    assert "rate-limit" in answer["error"]


@every_sdk
def test_a_policy_turns_clients_away_by_their_address(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent = connected(agents, sdk, edge)
    with service(says(b"not for you")) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}", policy=DENY_LOOPBACK)["url"]
        with suppress(ConnectionResetError), dial(url) as client:
            assert client.recv(100) == b""


def test_source_ranges_of_an_agent_hold(edge: RunningEdge, agents: Start) -> None:
    agent = connected(agents, "python", edge)
    with service(says(b"in")) as upstream:
        away = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}", allow="192.0.2.0/24")["url"]
        with suppress(ConnectionResetError), dial(away) as client:
            assert client.recv(100) == b""
        here = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}", allow="127.0.0.0/8")["url"]
        with dial(here) as client:
            assert read_all(client) == b"in"


def test_an_ip_policy_holds_and_a_change_of_its_rules_with_it(edge: RunningEdge, agents: Start) -> None:
    agent = connected(agents, "go", edge)
    _, ranges = edge.api("POST", "/ip_policies", {})
    within = {"ip_policy_id": ranges["id"]}
    _, rule = edge.api("POST", "/ip_policy_rules", {**within, "cidr": "127.0.0.0/8", "action": "deny"})
    action = {"type": "restrict-ips", "config": {"ip_policies": [ranges["id"]]}}
    policy = json.dumps({"on_tcp_connect": [{"actions": [action]}]})
    with service(says(b"in")) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}", policy=policy)["url"]
        with suppress(ConnectionResetError), dial(url) as client:
            assert client.recv(100) == b""
        assert edge.api("DELETE", f"/ip_policy_rules/{rule['id']}")[0] == 204
        edge.api("POST", "/ip_policy_rules", {**within, "cidr": "127.0.0.0/8", "action": "allow"})
        with dial(url) as client:
            assert read_all(client) == b"in"


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


@every_sdk
def test_an_agents_endpoint_can_be_seen_and_stopped_through_the_api(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent = connected(agents, sdk, edge)
    with service(says(b"x")) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}", metadata=f"of {sdk}")["url"]
        (seen,) = listed(edge, url)
        assert (seen["type"], seen["metadata"], seen["bindings"]) == ("agent", f"of {sdk}", ["public"])
        status, session = edge.api("GET", f"/tunnel_sessions/{seen['tunnel_session']['id']}")
        assert (status, session["client_type"]) == (200, "seamark-agent" if sdk == "seamark" else f"ngrok-{sdk}")
        assert edge.api("DELETE", f"/endpoints/{seen['id']}")[0] == 204
        assert listed(edge, url) == []
        with pytest.raises(ConnectionRefusedError):
            dial(url)


def test_a_labelled_tunnel_is_reached_by_a_policy_that_forwards_to_it(edge: RunningEdge, agents: Start) -> None:
    """Of the official SDKs, the one for Python has labelled tunnels."""
    first, second = connected(agents, "python", edge), connected(agents, "python", edge)
    _, address = edge.api("POST", "/reserved_addrs", {})
    target = {"type": "forward-internal", "config": {"url": "tcp://web.app.eu.zone.labels.internal:1"}}
    policy = json.dumps({"on_tcp_connect": [{"actions": [target]}]})
    _, cloud = edge.api("POST", "/endpoints", {"url": f"tcp://{address['addr']}", "traffic_policy": policy})
    with service(says(b"A")) as one, service(says(b"B")) as two:
        made = first.must("label", labels={"zone": "eu", "app": "Web"}, upstream=f"tcp://{one}")
        second.must("label", labels={"app": "Web", "zone": "eu"}, upstream=f"tcp://{two}")
        answers = set()
        for _ in range(4):
            with dial(cloud["url"]) as client:
                answers.add(read_all(client))
        assert answers == {b"A", b"B"}
        first.must("close", id=made["id"])
        with dial(cloud["url"]) as client:
            assert read_all(client) == b"B"
        refused = first.ask("label", labels={"app": "two words"}, upstream=f"tcp://{one}")
        assert "'two words'" in refused["error"]
    edge.api("DELETE", f"/endpoints/{cloud['id']}")


def test_a_go_agent_can_be_told_to_stop(edge: RunningEdge, agents: Start) -> None:
    agent = connected(agents, "go", edge)
    with service(says(b"x")) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        session = listed(edge, url)[0]["tunnel_session"]["id"]
        assert edge.api("POST", f"/tunnel_sessions/{session}/stop")[0] == 204
        eventually(lambda: edge.api("GET", f"/tunnel_sessions/{session}")[0] == 404, "the agent left")


def test_an_agent_that_is_told_to_restart_comes_back_at_its_address(edge: RunningEdge, agents: Start) -> None:
    agent = connected(agents, "seamark", edge)
    with service(says(b"x")) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        session = listed(edge, url)[0]["tunnel_session"]["id"]
        assert edge.api("POST", f"/tunnel_sessions/{session}/restart")[0] == 204

        def back() -> bool:
            found = listed(edge, url)
            return bool(found) and found[0]["tunnel_session"]["id"] != session

        eventually(back, "the agent is back", 30)
        assert edge.api("POST", f"/tunnel_sessions/{listed(edge, url)[0]['tunnel_session']['id']}/update")[0] == 409


def test_a_revoked_token_ends_its_sessions(edge: RunningEdge, agents: Start) -> None:
    _, made = edge.api("POST", "/credentials", {"description": "short-lived", "max_endpoints": 1})
    agent = agents("python")
    agent.must("connect", **{**edge.connection(), "token": made["token"]})
    with service(says(b"x")) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        assert "ERR_NGROK_324" in agent.ask("forward", url="tcp://", upstream=f"tcp://{upstream}")["error"]
        assert edge.api("DELETE", f"/credentials/{made['id']}")[0] == 204
        eventually(lambda: listed(edge, url) == [], "its endpoint went offline")


def test_no_secret_is_in_the_log(edge: RunningEdge, agents: Start) -> None:
    connected(agents, "python", edge)
    text = edge.log
    assert "agent joined" in text
    assert edge.token not in text
    assert edge.api_key not in text
    assert "PRIVATE KEY" not in text


def listed(edge: RunningEdge, url: str) -> list[dict[str, Any]]:
    return [e for e in edge.api("GET", "/endpoints")[1]["endpoints"] if e["url"] == url]
