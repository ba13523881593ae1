"""Where the address of a tenant may not lead."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from unittest.mock import Mock

import pytest

from seamark_edge.agent.upstream import Upstream, UpstreamConnection
from seamark_runtime import reach
from seamark_runtime.reach import Forbidden, allowed, forbidden
from seamark_runtime.resolver import Resolver

INSIDE = "KUBERNETES_SERVICE_HOST"
METADATA = {
    "plain": "169.254.169.254",
    "decimal": "2852039166",
    "hexadecimal": "0xA9FEA9FE",
    "octal": "0251.0376.0251.0376",
    "parts in hexadecimal": "0xa9.0xfe.0xa9.0xfe",
    "short": "169.254.43518",
    "a trailing dot": "169.254.169.254.",
    "fullwidth": "".join(chr(ord(one) + 0xFEE0) for one in "169.254.169.254"),
    "ideographic full stops": "169\u3002254\u3002169\u3002254",
    "mapped": "::ffff:169.254.169.254",
    "mapped, in hexadecimal": "::FFFF:a9fe:a9fe",
    "mapped, in brackets": "[::ffff:169.254.169.254]",
    "mapped, written out": "0:0:0:0:0:ffff:a9fe:a9fe",
    "mapped, with a scope": "::ffff:169.254.169.254%1",
    "compatible": "::169.254.169.254",
    "translated": "::ffff:0:169.254.169.254",
    "NAT64": "64:ff9b::169.254.169.254",
    "NAT64 of a network's own, /96": "64:ff9b:1::a9fe:a9fe",
    "NAT64 of a network's own, another /96": "64:ff9b:1:fffe::169.254.169.254",
    "NAT64 of a network's own, /48": "64:ff9b:1:a9fe:a9:fe00::",
    "NAT64 of a network's own, /56": "64:ff9b:1:a9:fe:a9fe::",
    "NAT64 of a network's own, /64": "64:ff9b:1:0:a9:fea9:fe00:0",
    "6to4": "2002:a9fe:a9fe::1",
    "Teredo, its server": "2001:0:a9fe:a9fe::1",
    "Teredo, its client": "2001:0:102:304:0:0:5601:5601",
    "ISATAP": "2001:db8::5efe:169.254.169.254",
}
NEVER = (
    *(
        "169.254.1.1",
        "fe80::1",
        "fe80::1%eth0",
        "fe80::a9fe:a9fe",
        "fd00:ec2::254",
        "fd00:0ec2:0::0254",
        "fd20:ce::254",
    ),
    *("100.100.100.200", "::ffff:100.100.100.200", "168.63.129.16", "192.0.0.192", "64:ff9b::168.63.129.16"),
    *("0.0.0.0", "0", "0.0.0.1", "::", "::0.0.0.0", "::ffff:0.0.0.0", "64:ff9b::", "255.255.255.255", "0xffffffff"),
    *("224.0.0.1", "ff02::1", "::ffff:224.0.0.1", "2002:e000:1::"),
    *METADATA.values(),
)
LOOPBACK = (
    *("127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "localhost", "LOCALHOST.", "me.localhost"),
    *("127.1", "0x7f.1", "0177.0.0.1", "017700000001", "2130706433", "::127.0.0.1", "64:ff9b::127.0.0.1"),
    *("2002:7f00:1::", "[::1]", "0:0:0:0:0:0:0:1", "\uff4cocalhost"),
)


@pytest.mark.parametrize("address", NEVER)
def test_the_link_and_the_clouds_metadata_are_never_asked(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for inside in ("", "10.96.0.1"):
        monkeypatch.setenv(INSIDE, inside)
        assert forbidden(address)


@pytest.mark.parametrize("address", LOOPBACK)
def test_the_loopback_is_nobodys_business_inside_of_a_pod(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INSIDE, "10.96.0.1")
    assert forbidden(address)
    monkeypatch.setenv(INSIDE, "127.96.0.1")  # a cluster that is itself on the loopback
    assert not forbidden(address)
    monkeypatch.delenv(INSIDE)
    assert not forbidden(address)


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.1", "192.168.1.1", "203.0.113.9", "2001:db8::1", "web.shop", "fd12::1", "notlocalhost", "240.0.0.1"),
        *("64:ff9b::10.0.0.1", "64:ff9b:1::10.0.0.1", "64:ff9b:1:a00:0:100::", "64:ff9b:1:fffe::203.0.113.9"),
        *("2002:a00:1::", "::ffff:10.0.0.1"),
    ],
)
def test_services_are_reached_wherever_they_are(address: str) -> None:
    assert not forbidden(address)


def test_what_a_name_leads_to_counts_and_only_that_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INSIDE, "10.96.0.1")
    answers = {"bad": ["169.254.169.254"], "mixed": ["127.0.0.1", "10.0.0.7"], "good": ["10.0.0.8"]}

    async def ask(name: str) -> list[str]:
        async def resolve(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
            return [(2, 1, 6, "", (address, 80)) for address in answers[host]]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
        return await allowed(name, 80)

    with pytest.raises(Forbidden, match="bad leads to a link-local or metadata address"):
        asyncio.run(ask("bad"))
    assert asyncio.run(ask("mixed")) == ["10.0.0.7"]
    assert asyncio.run(ask("good")) == ["10.0.0.8"]


def test_our_own_address_is_nobodys_business_inside_of_a_pod(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(
        "127.0.0.1 localhost\n# comment\n10.1.2.3 agent-0.web.shop agent-0\nfd12::9 agent-0\n10.1.2.4 other\n"
    )
    monkeypatch.setattr(reach, "HOSTS", hosts)
    monkeypatch.setattr(socket, "gethostname", lambda: "agent-0")
    monkeypatch.setenv(INSIDE, "10.96.0.1")
    reach.own_addresses.cache_clear()
    try:
        own = ("10.1.2.3", "fd12::9", "::ffff:10.1.2.3", "167838211", "64:ff9b::10.1.2.3")
        assert all(map(forbidden, own))
        assert not forbidden("10.1.2.4")
        monkeypatch.delenv(INSIDE)
        assert not any(map(forbidden, own))
    finally:
        reach.own_addresses.cache_clear()


def test_a_name_is_resolved_once_and_what_was_looked_at_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rebinding: the second answer of a name server would be the metadata service."""
    monkeypatch.setenv(INSIDE, "10.96.0.1")
    answers = [["10.0.0.7"], ["169.254.169.254"]]
    connected: list[str] = []

    async def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(2, 1, 6, "", (address, 80)) for address in answers.pop(0)]

    async def connect(_protocol: object, host: str, *_: object, **__: object) -> None:
        connected.append(host)
        raise ConnectionRefusedError

    async def story() -> None:
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "getaddrinfo", resolve)
        monkeypatch.setattr(loop, "create_connection", connect)
        upstream = Upstream("rebinding.example", 80, restricted=True)
        stream = UpstreamConnection(Mock(open=False), lambda _: None)
        with pytest.raises(ConnectionRefusedError):
            await stream._open(upstream)

    asyncio.run(story())
    assert connected == ["10.0.0.7"]
    assert len(answers) == 1


def test_what_a_resolver_answers_that_is_no_address_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(Resolver):
        async def lookup(self, _host: str) -> tuple[str, ...]:
            return ("metadata.internal",)

    with pytest.raises(Forbidden, match="web leads to no address"):
        asyncio.run(allowed("web", 80, Odd()))


@pytest.mark.parametrize("host", ["a" * 64, "a..b", "\0", "\ud800", "☃" * 100, "a" * 70_000, "%"])
def test_what_is_no_host_is_an_error_of_the_system_and_nothing_else(host: str) -> None:
    for resolver in (None, Resolver(), Resolver("127.0.0.1:9")):
        with pytest.raises(OSError):  # noqa: PT011 - in whatever words
            asyncio.run(allowed(f"{host}.invalid", 80, resolver))
