"""Metrics under the names that ExternalDNS's users know."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from seamark.families.dns.model.entries import Ref
from seamark.families.dns.model.metrics import DnsMetrics
from seamark.families.dns.model.responses import Responses
from seamark.families.dns.planning.subject import Subject
from seamark.families.dns.remote import Remote
from seamark.families.dns.zone.ledger import Ledger
from seamark.families.dns.zone.state import Read, Update
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Change, Content, Part, Record
from seamark_runtime.errors import Retry
from tests.unit.operator.families.dns.zones import ZONE, claim, content, owned, ref, rules, subject


def shown(metrics: DnsMetrics) -> dict[str, float]:
    registry = CollectorRegistry()
    for collector in metrics.collectors:
        registry.register(collector)
    lines = [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_what_is_desired_held_and_in_place_is_counted() -> None:
    metrics = DnsMetrics()
    holds = content(owned("a", "www A 192.0.2.1"))
    ledger = Ledger(ZONE, rules())
    wanted: dict[Ref, Subject | None] = {
        ref(who): subject(claim(who, text)) for who, text in (("a", "www A 192.0.2.1"), ("b", "new A 192.0.2.2"))
    }
    ledger.follow(holds, wanted, frozenset(("crd",)))
    metrics.planned(ZONE, ledger.counts)
    found = shown(metrics)
    assert found["external_dns_source_endpoints_total"] == 2
    assert found["external_dns_registry_endpoints_total"] == 2
    assert found['external_dns_registry_records{record_type="a"}'] == 1
    assert found['external_dns_controller_verified_records{record_type="a"}'] == 1
    for what, count in (("source", 2), ("registry", 1), ("controller_verified", 1)):
        assert found[f"external_dns_{what}_a_records"] == count
        assert found[f"external_dns_{what}_aaaa_records"] == 0
    assert found[f'seamark_dns_pending_changes{{zone="{ZONE}"}}'] == 1
    ledger.follow(holds, {ref("a"): None}, frozenset(("crd",)))
    metrics.planned(ZONE, ledger.counts)
    found = shown(metrics)
    assert found["external_dns_source_endpoints_total"] == 1
    assert found['external_dns_controller_verified_records{record_type="a"}'] == 0
    assert found[f'seamark_dns_pending_changes{{zone="{ZONE}"}}'] == 2


class Down(MemoryProvider):
    async def read(self, zone: str) -> Content:
        raise Retry("down")


def test_failures_are_counted_until_the_next_success() -> None:
    metrics = DnsMetrics()
    remote = Remote(Down((ZONE,)), Responses(60.0, adjusts=False), metrics)
    for _ in range(2):
        with pytest.raises(Retry):
            asyncio.run(remote.perform(Read(ZONE)))
    found = shown(metrics)
    assert found["external_dns_registry_errors_total"] == 2
    assert found["external_dns_controller_consecutive_soft_errors"] == 2
    assert found["external_dns_controller_no_op_runs_total"] == 0
    assert found["external_dns_controller_last_sync_timestamp_seconds"] == 0
    remote.provider = MemoryProvider((ZONE,))
    asyncio.run(remote.perform(Read(ZONE)))
    asyncio.run(remote.perform(Read(ZONE)))
    assert shown(metrics)["external_dns_controller_no_op_runs_total"] == 1
    assert shown(metrics)["external_dns_controller_consecutive_soft_errors"] == 0
    assert shown(metrics)["external_dns_controller_last_sync_timestamp_seconds"] > 0


def test_updates_and_refusals_are_counted() -> None:
    async def story() -> None:
        await remote.perform(Read(ZONE))
        record = Record(f"no.{ZONE}", "A", ("192.0.2.1",))
        await remote.perform(Update(ZONE, (Change(record.slot, (Part(None, record),)),)))

    metrics = DnsMetrics()
    remote = Remote(MemoryProvider((ZONE,), deny=[f"no.{ZONE}"]), Responses(60.0, adjusts=False), metrics)
    asyncio.run(story())
    found = shown(metrics)
    assert found["seamark_dns_update_messages_total"] == 1
    assert found[f'seamark_dns_refused_records{{zone="{ZONE}"}}'] == 1
