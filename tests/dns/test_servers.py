"""The same on BIND, Knot and PowerDNS: every record type comes, changes, is put back, and goes."""

from __future__ import annotations

import asyncio

import pytest

from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.link import TsigKey
from seamark.providers.dns.model import Change, Moved, Part, Record
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from tests.dns.running import ALL_TYPES, cluster, endpoint, operating, until
from tests.dns.servers import OTHER, REVERSE, SECRET, ZONE, ZONES, NameServer

NAPTR = '10 20 "S" "SIP+D2U" "" _sip._udp.example.net.'
RECORDS = {
    f"v4.{ZONE}": ("A", ["192.0.2.1", "192.0.2.2"], ["192.0.2.1", "192.0.2.2"]),
    f"v6.{ZONE}": ("AAAA", ["2001:DB8::1"], ["2001:db8::1"]),
    f"alias.{ZONE}": ("CNAME", ["WWW.example.net."], ["www.example.net."]),
    f"text.{ZONE}": ("TXT", ['"v=spf1 -all"', "it's \\plain; é"], ['"it\'s \\\\plain; \\195\\169"', '"v=spf1 -all"']),
    f"_http._tcp.{ZONE}": ("SRV", ["10 5 443 www.example.net."], ["10 5 443 www.example.net."]),
    f"child.{ZONE}": ("NS", ["ns1.example.net"], []),  # a delegation is no answer of this server's
    f"1.{REVERSE}": ("PTR", ["www.example.net"], ["www.example.net."]),
    f"mail.{ZONE}": ("MX", ["10 mx.example.net"], ["10 mx.example.net."]),
    f"sip.{ZONE}": ("NAPTR", [NAPTR], [NAPTR]),
    f"tree.{ZONE}": ("DNAME", ["example.net"], ["example.net."]),
    f"*.wild.{ZONE}": ("A", ["192.0.2.3"], ["192.0.2.3"]),
    f"host.{OTHER}": ("A", ["192.0.2.4"], ["192.0.2.4"]),  # the longest zone that the name is in
}  # fmt: skip


def test_every_record_type_is_served_put_back_and_removed(name_server: NameServer) -> None:
    async def story() -> None:
        provider = Rfc2136Provider(name_server.server(), ZONES)
        world = cluster()
        for number, (name, (type_, targets, _)) in enumerate(RECORDS.items()):
            world.apply(f"e{number}", endpoint(name, type_, *targets, recordTTL=120))
        everyone = [f"e{number}" for number in range(len(RECORDS))]
        async with operating(world, provider, Rules(zones=ZONES, owner="me", types=ALL_TYPES)):
            await until(lambda: all(map(world.ready, everyone)), lambda: [world.says(name) for name in everyone])
            for name, (type_, _, shown) in RECORDS.items():
                assert shown == [] or name_server.dig(name, type_) == shown
            assert world.says("e0") == ("True", "Programmed", "Successfully synced DNS records")

            name_server.by_hand(lambda update: update.delete(f"v4.{ZONE}.", "A"))
            await until(lambda: name_server.dig(f"v4.{ZONE}", "A"), "the record is put back")
            name_server.by_hand(lambda update: update.replace(f"v6.{ZONE}.", 60, "AAAA", "2001:db8::bad"))
            await until(lambda: name_server.dig(f"v6.{ZONE}", "AAAA") == ["2001:db8::1"], "the target is put back")
            await until(lambda: all(map(world.ready, everyone)), lambda: [world.says(name) for name in everyone])

            world.apply("e0", endpoint(f"v4.{ZONE}", "A", "192.0.2.77"))
            await until(lambda: name_server.dig(f"v4.{ZONE}", "A") == ["192.0.2.77"], "the change is served")
            for name in everyone:
                world.delete(name)
            await until(
                lambda: all(world.get(name) is None for name in everyone), lambda: [world.says(n) for n in everyone]
            )
            for zone in ZONES:
                assert set((await provider.read(zone)).names) == {zone}

    asyncio.run(story())


def test_a_change_by_somebody_else_in_between_is_noticed_and_not_overwritten(name_server: NameServer) -> None:
    """Rule 9: what was read is a prerequisite of the UPDATE."""
    name = f"www.{ZONE}"
    ours, theirs = Record(name, "A", ("192.0.2.1",), 300), Record(name, "A", ("192.0.2.66",), 300)
    owner = Record(f"a-{name}", "TXT", ("heritage=external-dns,external-dns/owner=me",), 300)

    async def story() -> None:
        provider = Rfc2136Provider(name_server.server(), ZONES)
        made = Change(ours.slot, (Part(None, ours), Part(None, owner)))
        name_server.by_hand(lambda update: update.add(f"{name}.", 300, "A", "192.0.2.66"))
        with pytest.raises(Moved):
            await provider.apply(ZONE, [made])
        assert name_server.dig(name, "A") == ["192.0.2.66"]
        assert name_server.dig(f"a-{name}", "TXT") == []  # all of it or nothing
        with pytest.raises(Moved):
            await provider.apply(ZONE, [Change(ours.slot, (Part(ours, None),))])
        await provider.apply(ZONE, [Change(ours.slot, (Part(theirs, ours), Part(None, owner)))])
        assert name_server.dig(name, "A") == ["192.0.2.1"]

    asyncio.run(story())


def test_a_key_that_the_server_does_not_know_is_told_and_changes_nothing(name_server: NameServer) -> None:
    async def story() -> None:
        world = cluster()
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        provider = Rfc2136Provider(name_server.server(TsigKey("stranger", SECRET)), ZONES)
        async with operating(world, provider, Rules(zones=ZONES, owner="me")):
            await until(lambda: world.says("www")[1] == "Failed", lambda: world.says("www"))
        assert "refused" in world.says("www")[2]
        assert name_server.dig(f"www.{ZONE}", "A") == []

    asyncio.run(story())


def test_a_server_that_was_killed_and_comes_back_is_served_again(name_server: NameServer) -> None:
    async def story() -> None:
        world = cluster()
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, Rfc2136Provider(name_server.server(timeout=1.0), ZONES), Rules(zones=ZONES)):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            name_server.kill()
            world.apply("new", endpoint(f"new.{ZONE}", "A", "192.0.2.2"))
            await until(lambda: world.says("new")[0] == "False", lambda: world.says("new"))
            await until(lambda: world.says("www")[0] == "Unknown", lambda: world.says("www"))
            name_server.start()
            await until(lambda: world.ready("new") and world.ready("www"), lambda: world.says("new"), 90)
            assert name_server.dig(f"new.{ZONE}", "A") == ["192.0.2.2"]

    asyncio.run(story())
