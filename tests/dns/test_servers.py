"""The same on BIND, Knot and PowerDNS: every record type comes, changes, is put back, and goes."""

from __future__ import annotations

import asyncio

from seamark.families.dns.rules import Rules
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from tests.dns.running import ALL_TYPES, cluster, endpoint, operating, until
from tests.dns.servers import OTHER, REVERSE, ZONE, ZONES, NameServer

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
