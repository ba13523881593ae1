"""A dry run prints what would be done, and does nothing."""

from __future__ import annotations

import asyncio

from seamark.api.dns import DNSEndpoint, DNSEndpointSpec, Endpoint
from seamark.cli.dns import table
from seamark.families.dns.oneshot.dryrun import Planned, dry_run
from seamark.providers.dns.memory import MemoryProvider
from seamark_runtime.api.meta import ObjectMeta
from tests.unit.operator.families.dns.zones import ZONE, owned, record, rules


def wanting(name: str, dns_name: str, target: str) -> DNSEndpoint:
    wanted = Endpoint(dns_name=f"{dns_name}.{ZONE}", record_type="A", targets=(target,))
    return DNSEndpoint(
        metadata=ObjectMeta(name=name, namespace="default", uid=name, generation=1),
        spec=DNSEndpointSpec(endpoints=(wanted,)),
    )


def test_a_dry_run_shows_what_would_be_done_and_does_nothing() -> None:
    provider = MemoryProvider((ZONE,))
    for held in [
        *owned("a", "www A 192.0.2.1"),
        *owned("gone", "old A 192.0.2.1"),
        record("foreign A 192.0.2.9", ttl=300),
    ]:
        provider.put(held)
    before = provider.content(ZONE)
    objects = [
        wanting("a", "www", "192.0.2.2"),
        wanting("b", "new", "192.0.2.3"),
        wanting("c", "foreign", "192.0.2.4"),
        wanting("d", "bad", "nonsense"),
    ]
    found = asyncio.run(dry_run(provider, rules(), objects))
    assert found == [
        Planned(
            "", "Invalid", f"bad.{ZONE}", "A",
            why="crd/default/d: spec.endpoints[0].targets[0]: 'nonsense' is not an IPv4 address",
        ),
        Planned(ZONE, "update", f"www.{ZONE}", "A", "192.0.2.1 (300 s)", "192.0.2.2"),
        Planned(ZONE, "create", f"new.{ZONE}", "A", "", "192.0.2.3"),
        Planned(ZONE, "delete", f"old.{ZONE}", "A", "192.0.2.1 (300 s)", ""),
        Planned(
            ZONE, "NotOwned", f"foreign.{ZONE}", "A",
            why=f"crd/default/c: foreign.{ZONE} A is on the name server already, without a valid ownership record",
        ),
    ]  # fmt: skip
    assert provider.content(ZONE) is before
    assert provider.updates == 0
    assert table(found).row_count == 5
