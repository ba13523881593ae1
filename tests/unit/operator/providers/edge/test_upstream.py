"""A service with several addresses is reached by the first that answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from seamark_edge.agent.model import Tunnel
from seamark_edge.agent.upstream import Upstream, UpstreamConnection
from seamark_edge.agent.wanted import upstream_host
from seamark_runtime.errors import UserError
from seamark_runtime.reach import Forbidden
from seamark_runtime.resolver import Found, Resolver
from seamark_runtime.upstreams import destination


class Known(Resolver):
    def __init__(self, *addresses: str) -> None:
        super().__init__()
        self._addresses = addresses

    async def lookup(self, _host: str) -> tuple[str, ...]:
        return self._addresses


class Reached(UpstreamConnection):
    """Tells where it got to."""

    def __init__(self) -> None:
        stream: Any = None  # nothing is carried
        super().__init__(stream, lambda _url: None)
        self.peers: list[str] = []

    def connection_made(self, transport: Any) -> None:
        self.peers.append(transport.get_extra_info("peername")[0])
        transport.abort()

    def connection_lost(self, _error: Exception | None) -> None:
        pass


async def reached(*addresses: str) -> list[str]:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        connection = Reached()
        await connection._open(Upstream("db.shop.svc", port, restricted=True, resolver=Known(*addresses)))
        return connection.peers


def test_an_address_where_nobody_is_leaves_the_next() -> None:
    assert asyncio.run(reached("127.0.0.2", "127.0.0.1")) == ["127.0.0.1"]


def test_the_first_that_answers_is_enough() -> None:
    assert asyncio.run(reached("127.0.0.1", "127.0.0.1")) == ["127.0.0.1"]


def test_what_the_last_one_said_is_told() -> None:
    with pytest.raises(OSError, match=r"refused|111"):
        asyncio.run(reached("127.0.0.3", "127.0.0.2"))


def test_a_name_without_an_address_is_told() -> None:
    with pytest.raises(OSError, match=r"db\.shop\.svc"):
        asyncio.run(reached())


class Answering(Resolver):
    """Answers one request with what it was given, and records it."""

    def __init__(self, name: str, *addresses: str) -> None:
        super().__init__()
        self._found = Found(name, addresses)
        self.asked = ""

    async def find(self, host: str) -> Found:
        self.asked = host
        return self._found


def addresses(url: str, resolver: Resolver, *, anywhere: bool = False) -> tuple[str, ...]:
    meant = destination(upstream_host(url), "shop")
    tunnel = Tunnel("tcp://", url, restricted=True, destination=meant, anywhere=anywhere)
    return asyncio.run(Upstream.of(tunnel, resolver=resolver).addresses())


@pytest.mark.parametrize(
    "url", ["http://db", "http://db.shop", "tcp://DB.shop.svc:80", "db.shop.svc.cluster.local.:80"]
)
def test_a_service_is_asked_for_by_its_whole_name_whatever_the_agents_search_list_is(url: str) -> None:
    resolver = Answering("db.shop.svc.cluster.local", "10.96.0.10")
    assert addresses(url, resolver) == ("10.96.0.10",)
    assert resolver.asked == "db.shop.svc.cluster.local."


def test_a_name_outside_of_the_cluster_that_leads_into_it_is_refused() -> None:
    for private in ("10.96.0.10", "fd00::1", "64:ff9b::a60:a", "100.64.0.1", "169.254.169.254"):
        with pytest.raises(Forbidden):
            addresses("http://rebinding.evil.example", Answering("rebinding.evil.example", private))
    found = addresses("http://www.example.com", Answering("www.example.com", "10.96.0.10", "93.184.215.14"))
    assert found == ("93.184.215.14",)


def test_a_service_with_an_external_name_in_the_cluster_is_refused() -> None:
    with pytest.raises(Forbidden):
        addresses("http://alias.shop", Answering("victim.other.svc.cluster.local", "10.96.0.10"))
    outside = Answering("www.example.com", "93.184.215.14")
    assert addresses("http://alias.shop", outside) == ("93.184.215.14",)
    inside = Answering("victim.other.svc.cluster.local", "10.96.0.10")
    assert addresses("http://alias.shop", inside, anywhere=True) == ("10.96.0.10",)


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "0xa9.0xfe.0xa9.0xfe",
        "2852039166",
        "0251.0376.0251.0376",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "0.0.0.0",
        "100.100.100.200",
    ],
)
def test_metadata_and_link_local_addresses_are_refused_in_every_spelling(host: str) -> None:
    meant = destination(upstream_host(f"http://{host}"), "shop")
    for anywhere in (False, True):
        tunnel = Tunnel("tcp://", f"http://{host}", restricted=True, destination=meant, anywhere=anywhere)
        with pytest.raises(UserError, match="leads to"):
            Upstream.of(tunnel)


def test_the_name_in_the_url_is_the_one_that_certificates_are_checked_for() -> None:
    tunnel = Tunnel("tcp://", "https://web.shop.", restricted=True, destination=destination("web.shop.", "shop"))
    assert Upstream.of(tunnel).host == "web.shop"
