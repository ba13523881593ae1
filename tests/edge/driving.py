"""Agents of every SDK, connected, and how a person would look at what they offer."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram
from tests.edge.services import (
    dial,
    echo,
    read_all,
    service,
)

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


def listed(edge: RunningEdge, url: str) -> list[dict[str, Any]]:
    return [e for e in edge.api("GET", "/endpoints")[1]["endpoints"] if e["url"] == url]


@contextmanager
def tunnel(
    edge: RunningEdge, agents: Callable[[str], AgentProgram], patience: float = 30
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Another user's tunnel; calling it proves that it works."""
    agent = agents("seamark")
    agent.must("connect", **edge.connection())
    with service(echo) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]

        def works() -> None:
            with dial(url) as client:
                client.settimeout(patience)
                client.sendall(b"fine")
                assert client.recv(10) == b"fine"

        works()
        yield url, works
        works()
