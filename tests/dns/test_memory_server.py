"""A memory provider's zones on a real port: what `dig` says."""

from __future__ import annotations

import asyncio
import subprocess

import dns.asyncquery
import dns.flags
import dns.message
import dns.rcode
import pytest

from seamark.families.dns.model.rules import Rules
from seamark.families.dns.settings import DnsSettings, provider_of
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Record
from seamark.providers.dns.server import MemoryServer, ServedMemory
from seamark_cluster.real.ports import Ports
from tests.dns.running import cluster, endpoint, operating, until

ZONE = "example.test"
HOST = "127.0.0.1"


def zone() -> MemoryProvider:
    provider = MemoryProvider((ZONE,))
    for one in (
        Record(f"www.{ZONE}", "A", ("192.0.2.1", "192.0.2.2"), 60),
        Record(f"alias.{ZONE}", "CNAME", (f"www.{ZONE}",), 60),
        Record(f"away.{ZONE}", "CNAME", ("www.example.net",), 60),
        Record(f"*.wild.{ZONE}", "A", ("192.0.2.3",), 60),
        Record(f"big.{ZONE}", "TXT", tuple(f"{number:03}" * 80 for number in range(20)), 60),
    ):
        provider.put(one)
    return provider


def asked(name: str, type_: str, *, tcp: bool = False) -> tuple[str, list[str], bool]:
    """The rcode, the answers, and whether it was cut."""

    async def story() -> dns.message.Message:
        ports, server = Ports(HOST), MemoryServer(zone())
        port = ports.reserve()
        await server.start(HOST, port)
        try:
            query = dns.message.make_query(name, type_)
            ask = dns.asyncquery.tcp if tcp else dns.asyncquery.udp
            return await ask(query, HOST, port=port, timeout=5)
        finally:
            server.close()
            ports.close()

    answer = asyncio.run(story())
    found = sorted(rdata.to_text() for rrset in answer.answer for rdata in rrset)
    return dns.rcode.to_text(answer.rcode()), found, bool(answer.flags & dns.flags.TC)


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize(
    ("name", "type_", "rcode", "found"),
    [
        (f"www.{ZONE}", "A", "NOERROR", ["192.0.2.1", "192.0.2.2"]),
        (f"WWW.{ZONE}", "A", "NOERROR", ["192.0.2.1", "192.0.2.2"]),
        (f"www.{ZONE}", "AAAA", "NOERROR", []),
        (f"alias.{ZONE}", "A", "NOERROR", ["192.0.2.1", "192.0.2.2", f"www.{ZONE}."]),
        (f"away.{ZONE}", "A", "NOERROR", ["www.example.net."]),
        (f"a.wild.{ZONE}", "A", "NOERROR", ["192.0.2.3"]),
        (f"wild.{ZONE}", "A", "NOERROR", []),
        (f"nobody.{ZONE}", "A", "NXDOMAIN", []),
        ("www.example.net", "A", "REFUSED", []),
        (ZONE, "SOA", "NOERROR", [f"ns.{ZONE}. admin.{ZONE}. 6 3600 600 86400 60"]),
    ],
)
def test_a_question_is_answered(name: str, type_: str, rcode: str, found: list[str], tcp: bool) -> None:
    assert asked(name, type_, tcp=tcp) == (rcode, found, False)


def test_what_does_not_fit_in_a_packet_is_cut_and_comes_by_tcp() -> None:
    assert asked(f"big.{ZONE}", "TXT") == ("NOERROR", [], True)
    assert len(asked(f"big.{ZONE}", "TXT", tcp=True)[1]) == 20


def test_dig_says_what_is_there() -> None:
    async def story() -> str:
        ports, server = Ports(HOST), MemoryServer(zone())
        port = ports.reserve()
        await server.start(HOST, port)
        try:
            command = ["dig", "+short", f"@{HOST}", "-p", str(port), f"www.{ZONE}", "A"]
            done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
            return done.stdout
        finally:
            server.close()
            ports.close()

    assert sorted(asyncio.run(story()).split()) == ["192.0.2.1", "192.0.2.2"]


@pytest.mark.parametrize("junk", [b"", b"x", b"\0" * 12, b"\xff" * 40])
def test_junk_is_dropped_or_answered_and_ends_nothing(junk: bytes) -> None:
    answer = MemoryServer(zone()).reply(junk, stream=False)
    assert answer is None or len(answer) <= 512


def test_an_operators_records_are_answered_where_its_settings_say() -> None:
    async def story() -> str:
        ports = Ports(HOST)
        port = ports.reserve()
        provider = provider_of(
            DnsSettings(dns_provider="memory", dns_zones=(ZONE,), dns_memory_address=f"{HOST}:{port}")
        )
        world = cluster()
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.7"))
        try:
            async with operating(world, provider, Rules(zones=(ZONE,), owner="me")):
                await until(lambda: world.ready("www"), lambda: world.says("www"))
                command = ["dig", "+short", f"@{HOST}", "-p", str(port), f"www.{ZONE}", "A"]
                done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
                return done.stdout
        finally:
            await provider.close()
            ports.close()

    assert asyncio.run(story()).split() == ["192.0.2.7"]


def test_a_port_that_can_not_be_had_is_told_on_the_objects() -> None:
    async def story() -> tuple[str, str, str]:
        ports = Ports(HOST)
        port = ports.reserve()
        first, second = ServedMemory((ZONE,), HOST, port), ServedMemory((ZONE,), HOST, port)
        world = cluster()
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.7"))
        try:
            await first.read(ZONE)
            async with operating(world, second, Rules(zones=(ZONE,), owner="me")):
                await until(lambda: world.says("www")[1] == "Failed", lambda: world.says("www"))
                said = world.says("www")
                await first.close()
                await until(lambda: world.ready("www"), lambda: world.says("www"), 40)
                return said
        finally:
            await first.close()
            await second.close()
            ports.close()

    assert "can't serve DNS on 127.0.0.1:" in asyncio.run(story())[2]
