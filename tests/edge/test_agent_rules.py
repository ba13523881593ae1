"""What the edge is configured to do with traffic holds for the official SDKs too: policies, addresses, TLS, labels."""

from __future__ import annotations

import json
import socket
import ssl
from contextlib import suppress

from tests.edge.driving import DENY_LOOPBACK, Start, connected, every_sdk
from tests.edge.running import RunningEdge
from tests.edge.services import (
    dial,
    echo,
    read_all,
    says,
    service,
)


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
