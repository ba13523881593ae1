"""Which name servers are asked about a name."""

from __future__ import annotations

import asyncio

from seamark.providers.dns.authority import Authority
from seamark.providers.dns.model import Content, Record

ZONE = "example.test"


def test_ns_records_lead_to_no_address_where_a_tenant_may_not_lead_us() -> None:
    """Their targets, and the addresses of those, may be records of tenants."""
    addresses = {"ns1": "192.0.2.1", "ns2": "169.254.169.254", "ns3": "0.0.0.0"}
    names = {f"{name}.{ZONE}": (Record(f"{name}.{ZONE}", "A", (ip,), 300),) for name, ip in addresses.items()}
    content = Content(ZONE, 1, {**names, ZONE: (Record(ZONE, "NS", tuple(names), 300),)})
    found = asyncio.run(Authority().servers(content, f"www.{ZONE}"))
    assert [server.label for server in found] == [f"ns1.{ZONE} (192.0.2.1)"]
