"""A service with several addresses is reached by the first that answers."""

from __future__ import annotations

import asyncio
import re
import socket
from typing import Any

import pytest

from seamark_edge.agent.agent import Agent, Held
from seamark_edge.agent.keys import Dates
from seamark_edge.agent.model import AgentSettings, Pair, Termination, Tunnel
from seamark_edge.agent.upstream import Upstream, UpstreamConnection
from seamark_edge.urls import upstream
from seamark_runtime.errors import UserError
from seamark_runtime.reach import Forbidden
from seamark_runtime.resolver import Found, Resolver
from seamark_runtime.upstreams import destination
from tests.edge.tls import pair


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


def test_a_check_reads_no_more_than_the_first_bytes_of_a_service_that_floods() -> None:
    async def case() -> None:
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def flood(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            sent = 0
            try:
                while sent < 256 << 20:
                    writer.write(bytes(1 << 20))
                    await writer.drain()
                    sent += 1 << 20
            except OSError:
                pass
            ended.set_result(sent)
            writer.close()

        async with await asyncio.start_server(flood, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            assert await Upstream("127.0.0.1", port).check() == ""
            assert await ended < 32 << 20  # what the buffers of the sockets hold

    asyncio.run(case())


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
    meant = destination(upstream(url).host, "shop")
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
    meant = destination(upstream(f"http://{host}").host, "shop")
    for anywhere in (False, True):
        tunnel = Tunnel("tcp://", f"http://{host}", restricted=True, destination=meant, anywhere=anywhere)
        with pytest.raises(UserError, match="leads to"):
            Upstream.of(tunnel)


def test_the_name_in_the_url_is_the_one_that_certificates_are_checked_for() -> None:
    tunnel = Tunnel("tcp://", "https://web.shop.", restricted=True, destination=destination("web.shop.", "shop"))
    assert Upstream.of(tunnel).host == "web.shop"


# ---- the dates of the certificate with which a client's TLS ends at the agent


def terminating(upstream: str, **dates: float) -> Tunnel:
    certificate, key = pair("app.example.com", **dates)
    server = Pair(certificate, key, source="the Secret web")
    return Tunnel("tls://app.example.com", upstream, termination=Termination(server))


async def checked(tunnel: Tunnel) -> tuple[bool | None, str]:
    """What the agent answers when the edge asks it to check this tunnel."""
    agent = Agent(AgentSettings(server="127.0.0.1:1", token="any"), lambda _name: None)
    held = Held(tunnel, Upstream.of(tunnel))
    agent._by_bind["b"] = held
    report = await agent._check("b")
    return report.reachable, report.detail


@pytest.mark.parametrize(
    ("dates", "message"),
    [
        ({"ends": -1}, r"the certificate in the Secret web has expired: it was valid until \d{4}-.*Z"),
        ({"begins": 3600}, r"the certificate in the Secret web is not valid before \d{4}-.*Z"),
        ({}, ""),
    ],
)
def test_an_upstream_behind_a_certificate_out_of_its_dates_is_reached_by_no_client(
    dates: dict[str, float], message: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        reachable, detail = asyncio.run(checked(terminating(f"tcp://127.0.0.1:{port}", **dates)))
    assert reachable is not bool(message)
    assert re.fullmatch(message, detail)


@pytest.mark.parametrize(
    "certificate", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_a_certificate_without_dates_that_can_be_read_is_the_users_mistake(certificate: bytes) -> None:
    with pytest.raises(UserError, match="the server certificate in the Secret web can't be read"):
        Dates.of(Pair(certificate, b"", source="the Secret web"))
