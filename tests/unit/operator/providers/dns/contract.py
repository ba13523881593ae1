"""What every DNS provider must keep to. Run on the fake in memory, through a webhook, and on real name servers."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from seamark.families.dns.planning.registry import Registry
from seamark.families.dns.remote import shows
from seamark.providers.dns.isolate import Outcome, apply_each
from seamark.providers.dns.model import Change, Part, Provider, Record, zone_of
from seamark.providers.dns.txt import Names, Values
from tests.unit.operator.families.dns.zones import rules

ZONE = "example.test"
KEY = b"0123456789abcdef0123456789abcdef"
NAMES = {
    "default": Names(),
    "suffix": Names(suffix="-txt"),
    "template": Names(prefix="txt-%{record_type}."),
    "replaced wildcard": Names(wildcard="any"),
}
OWNED = [
    Record(f"www.{ZONE}", "A", ("192.0.2.1", "192.0.2.2"), 300),
    Record(f"*.wild.{ZONE}", "A", ("192.0.2.1",), 300),
    Record(f"any.other.{ZONE}", "CNAME", (f"www.{ZONE}",), 300),
    Record(f"my-txt-server.{ZONE}", "AAAA", ("2001:db8::1",), 300),
    Record(f"text.{ZONE}", "TXT", ("v=spf1 -all",), 300, spelled=(("v=spf1 -all", '"v=spf1 -all"'),)),
]


class ProviderContract:
    """The promises of `Provider` about records and their ownership, each as a test."""

    def provider(self) -> AbstractAsyncContextManager[Provider]:
        raise NotImplementedError

    @pytest.mark.parametrize("key", [b"", KEY], ids=["plain", "encrypted"])
    @pytest.mark.parametrize("names", NAMES.values(), ids=list(NAMES))
    def test_a_record_and_its_ownership_are_made_read_back_and_deleted(self, names: Names, key: bytes) -> None:
        under = rules(names=names, values=Values(key))

        async def story() -> None:
            async with self.provider() as provider:
                zone = zone_of(f"www.{ZONE}", provider.zones)
                assert zone is not None
                writing = Registry(under)
                changes = [
                    Change(
                        record.slot,
                        (Part(None, record), *writing.parts(record.slot, None, {"resource": f"crd/default/{number}"})),
                    )
                    for number, record in enumerate(OWNED)
                ]
                assert await _refused(provider, zone, changes) == {}
                content = await provider.read(zone)
                assert all(shows(content, change) for change in changes)
                reading = Registry(under)
                reading.follow(content, content.names)
                going = []
                for number, record in enumerate(OWNED):
                    ownership = reading.at(record.name)[record.slot]
                    assert (ownership.owner, ownership.resource) == ("me", f"crd/default/{number}")
                    parts = reading.parts(record.slot, ownership, None)
                    going.append(Change(record.slot, (Part(content.get(record.slot), None), *parts)))
                assert await _refused(provider, zone, going) == {}
                left = await provider.read(zone)
                assert [part.record for change in changes for part in change.parts if left.get(part.record.slot)] == []

        asyncio.run(story())

    def test_a_record_of_the_zone_itself_is_owned_with_a_prefix_that_ends_with_a_dot(self) -> None:
        under = rules(names=NAMES["template"])
        record = Record(ZONE, "A", ("192.0.2.1",), 300)

        async def story() -> None:
            async with self.provider() as provider:
                zone = zone_of(ZONE, provider.zones)
                assert zone is not None
                own = Registry(under).parts(record.slot, None, {"resource": "crd/default/apex"})
                assert await _refused(provider, zone, [Change(record.slot, (Part(None, record), *own))]) == {}
                reading = Registry(under)
                content = await provider.read(zone)
                reading.follow(content, content.names)
                assert reading.at(ZONE)[record.slot].resource == "crd/default/apex"

        asyncio.run(story())

    def test_a_record_whose_ownership_has_no_place_is_not_made(self) -> None:
        """Without its ownership record nothing would know whose it is, and it would never be deleted."""
        apex, www = Record(ZONE, "A", ("192.0.2.1",), 300), Record(f"w3.{ZONE}", "A", ("192.0.2.1",), 300)

        async def story() -> None:
            async with self.provider() as provider:
                zone = zone_of(ZONE, provider.zones)
                assert zone is not None
                registry = Registry(rules())
                changes = [
                    Change(
                        record.slot, (Part(None, record), *registry.parts(record.slot, None, {"resource": "crd/a/b"}))
                    )
                    for record in (apex, www)
                ]
                refused = await _refused(provider, zone, changes)
                assert list(refused) == [changes[0]]
                content = await provider.read(zone)
                assert content.get(apex.slot) is None
                assert shows(content, changes[1])

        asyncio.run(story())


async def _refused(provider: Provider, zone: str, changes: list[Change]) -> dict[Change, str]:
    outcome = Outcome()
    await provider.read(zone)
    await apply_each(provider, zone, changes, outcome)
    assert outcome.moved == []
    return outcome.refused
