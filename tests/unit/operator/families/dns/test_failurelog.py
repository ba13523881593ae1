"""What of a provider's failures is in the log (docs/spec/dns/dnsendpoint.md, rule 69)."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from seamark.families.dns.model.metrics import DnsMetrics
from seamark.families.dns.model.responses import Responses
from seamark.families.dns.remote import Remote
from seamark.families.dns.zone.state import Read, Update
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Content
from seamark_runtime.errors import Retry
from tests.unit.operator.families.dns.test_remote import ZONE, create


class Failing(MemoryProvider):
    error = ""

    async def read(self, zone: str) -> Content:
        if self.error:
            raise Retry(self.error)
        return await super().read(zone)


def test_a_failure_is_logged_once_for_each_error_and_when_it_ends() -> None:
    provider = Failing((ZONE,))
    remote = Remote(provider, Responses(60.0, adjusts=False), DnsMetrics(), lambda: 0.0)

    async def read(error: str) -> None:
        provider.error = error
        if not error:
            await remote.perform(Read(ZONE))
            return
        with pytest.raises(Retry):
            await remote.perform(Read(ZONE))

    async def story() -> None:
        for error in ("", "no route", "no route", "no route", "answered 500", "answered 500", "", "", "no route"):
            await read(error)

    with capture_logs() as lines:
        asyncio.run(story())
    assert [(line["log_level"], line["zone"], line["call"], line.get("error", "")) for line in lines] == [
        ("warning", ZONE, "read", "no route"),
        ("warning", ZONE, "read", "answered 500"),
        ("info", ZONE, "read", ""),
        ("warning", ZONE, "read", "no route"),
    ]


def test_a_refused_change_is_logged_once_and_again_after_it_was_accepted() -> None:
    provider = MemoryProvider((ZONE,), deny=[f"no.{ZONE}"])
    remote = Remote(provider, Responses(60.0, adjusts=False), DnsMetrics(), lambda: 0.0)

    async def story() -> None:
        await remote.perform(Read(ZONE))
        for _ in range(3):
            await remote.perform(Update(ZONE, (create("no"),)))
        provider.deny.clear()
        await remote.perform(Update(ZONE, (create("no"),)))
        provider.deny.add(f"no.{ZONE}")
        provider.remove(f"no.{ZONE}", "A")
        await remote.perform(Read(ZONE))
        await remote.perform(Update(ZONE, (create("no"),)))

    with capture_logs() as lines:
        asyncio.run(story())
    refused = [line for line in lines if line["event"] == "a change of DNS was refused"]
    assert [(line["change"], line["error"]) for line in refused] == [
        (f"create no.{ZONE} A", "the server refused it (REFUSED)")
    ] * 2
