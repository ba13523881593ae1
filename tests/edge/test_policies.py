"""Policies and certificates on a running edge: refused when they are set, by any client, and never a stall."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.edge.driving import Start, connected, every_sdk
from tests.edge.running import RunningEdge
from tests.edge.services import dial, echo, service
from tests.edge.tls import pair

TEN = "[0,1,2,3,4,5,6,7,8,9]"


def looping(dot: str) -> str:
    source = "true"
    for level in range(6):
        source = f"{TEN}{dot}all(x{level}, {source})"
    return source


def policy(expression: str = "", **config: str) -> str:
    action = {"type": "terminate-tls", "config": config} if config else {"type": "deny"}
    return json.dumps({"on_tcp_connect": [{"expressions": [expression] if expression else [], "actions": [action]}]})


def bomb() -> str:
    lists = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 20)}]\n" for n in range(1, 9))
    return f"l0: &l0 [192.0.2.0/24]\n{lists}"


FOREIGN_KEY = pair("other.example.com")[1].decode()
CERTIFICATE = pair("a.example.com")[0].decode()
BAD = {
    "a loop behind a comment": (policy(looping(".//\n")), "on_tcp_connect[0].expressions[0]"),
    "aliases that multiply": (bomb(), "more than 2000 values"),
    "no certificate": (policy(server_certificate="x", server_private_key="y"), "config.server_certificate"),
    "a foreign key": (policy(server_certificate=CERTIFICATE, server_private_key=FOREIGN_KEY), "server_private_key"),
}
every_bad = pytest.mark.parametrize(("text", "named"), BAD.values(), ids=BAD)


def refused(edge: RunningEdge, text: str) -> dict[str, Any]:
    status, answer = edge.api("POST", "/endpoints", {"url": "tls://bad.edge.localhost", "traffic_policy": text})
    assert status == 400
    found: dict[str, Any] = answer
    return found


@every_bad
def test_the_api_refuses_it_and_names_the_place(edge: RunningEdge, text: str, named: str) -> None:
    started = time.monotonic()
    assert named in refused(edge, text)["msg"]
    assert time.monotonic() - started < 2
    assert "PRIVATE KEY" not in edge.log


@every_sdk
def test_an_agent_that_brings_it_is_refused_and_stays(edge: RunningEdge, agents: Start, sdk: str) -> None:
    agent = connected(agents, sdk, edge)
    for text, named in BAD.values():
        answer = agent.ask("forward", url="tls://bad.edge.localhost", upstream="tcp://127.0.0.1:1", policy=text)
        # An SDK that reads the policy itself may refuse it in its own words.
        assert named in answer["error"] or "policy" in answer["error"].lower()
    with service(echo) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        with dial(url) as client:
            client.sendall(b"still here")
            assert client.recv(20) == b"still here"


def test_the_dearest_policy_that_is_taken_delays_nobody(edge: RunningEdge, agents: Start) -> None:
    agent = connected(agents, "seamark", edge)
    dear = f"{list(range(34))}.exists(x, {list(range(34))}.exists(y, x + y < 0))"
    with service(echo) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}", policy=policy(dear))["url"]
        for _ in range(20):
            started = time.monotonic()
            with dial(url) as client:
                client.sendall(b"x")
                assert client.recv(1) == b"x"
            assert time.monotonic() - started < 1
