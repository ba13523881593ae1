"""Targets go to a webhook provider as they were written, and back as it wrote them (rules 59 and 60)."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from aiohttp import web

from seamark.api.dns import Endpoint as Wanted
from seamark.families.dns.model.desired import desired_records
from seamark.families.dns.planning.claims import ObjectClaims
from seamark.families.dns.planning.registry import Registry
from seamark.families.dns.planning.zoneplan import ZonePlan
from seamark.providers.dns.endpoints import Endpoint, endpoint_of, record_of
from seamark.providers.dns.model import Change, Part, Record
from seamark.providers.dns.txt import Values
from seamark.providers.dns.webhook import EVERYTHING
from tests.unit.operator.families.dns.zones import ZONE, claim, content, rules
from tests.unit.operator.providers.dns.test_webhook_answers import MEDIA, provider_at


def endpoint(name: str, type_: str, *targets: str) -> Wanted:
    return Wanted(dns_name=name, record_type=type_, targets=targets)


KEY = b"0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    "text", ['"v=spf1 -all"', "v=spf1 -all", r'"with \"quotes\""', '"in" "parts"', "a b", "", '""', '"']
)
def test_a_text_is_sent_as_the_object_has_it(text: str) -> None:
    [desired] = desired_records((endpoint("www.example.org", "TXT", text),), rules()).records
    assert endpoint_of(desired.record).targets == (text,)


@pytest.mark.parametrize(
    ("type_", "target"),
    [
        ("TXT", '"v=spf1 -all"'),
        ("TXT", "v=spf1 -all"),
        ("TXT", "heritage=external-dns,external-dns/owner=me"),
        ("TXT", '"heritage=external-dns,external-dns/owner=me"'),
        ("CNAME", "www.example.net."),
        ("CNAME", "WWW.example.net"),
        ("AAAA", "2001:0db8::0001"),
        ("SRV", "1 2 443 www.example.net"),
        ("MX", "10 mail.example.net."),
    ],
)
def test_what_the_provider_lists_is_named_to_it_in_its_own_spelling(type_: str, target: str) -> None:
    listed = record_of(Endpoint(dns_name="x.example.org", record_type=type_, targets=(target,)))
    assert listed is not None
    assert endpoint_of(listed).targets == (target,)


@pytest.mark.parametrize("key", [b"", KEY], ids=["plain", "encrypted"])
def test_an_ownership_record_is_sent_in_quotes(key: bytes) -> None:
    registry = Registry(rules(values=Values(key)))
    [part] = registry.parts((f"www.{ZONE}", "A", ""), None, {"resource": "crd/default/www"})
    assert part.after is not None
    [target] = endpoint_of(part.after).targets or ()
    assert target.startswith('"')
    assert target.endswith('"')


@pytest.mark.parametrize("listed", ['"{}"', "{}"])
def test_an_ownership_record_is_the_same_in_whatever_spelling_it_is_listed(listed: str) -> None:
    under = rules(values=Values(KEY))
    value = under.values.encode({"owner": "me", "resource": "crd/default/www"})
    www = Record(f"www.{ZONE}", "A", ("192.0.2.1",), 300)
    owner = record_of(Endpoint(dns_name=f"a-www.{ZONE}", record_type="TXT", targets=(listed.format(value),)))
    assert owner is not None
    made = ZonePlan(ZONE, under)
    wanted = claim("www", "www A 192.0.2.1")
    made.follow(content(www, owner), {wanted.ref: ObjectClaims(wanted.ref, (wanted,))}, under.sources)
    assert made.changes == ()


def test_a_text_that_is_written_anew_with_quotes_is_another_change() -> None:
    """The provider has refused the one without quotes: the user adds them."""
    plain, quoted = (
        desired_records((endpoint("www.example.org", "TXT", text),), rules()).records[0].record
        for text in ("v=spf1 -all", '"v=spf1 -all"')
    )
    assert plain.targets == quoted.targets
    assert Change(plain.slot, (Part(None, plain),)) != Change(quoted.slot, (Part(None, quoted),))


def test_a_provider_that_wants_quotes_takes_every_ownership_record() -> None:
    """As PowerDNS: a text without quotes is an error of the whole message."""
    held: list[dict[str, Any]] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            body = b"{}" if request.path == "/" else msgspec.json.encode(held)
            return web.Response(body=body, headers={"Content-Type": MEDIA})
        created = msgspec.json.decode(await request.read()).get("create", [])
        texts = [target for one in created if one["recordType"] == "TXT" for target in one["targets"]]
        if not all(text.startswith('"') and text.endswith('"') for text in texts):
            return web.Response(status=500)
        held.extend(created)
        return web.Response(status=204)

    async def story() -> None:
        under = rules(zones=(EVERYTHING,), values=Values(KEY), set_identifiers=True)
        texts = (endpoint("www.example.org", "A", "192.0.2.1"), endpoint("www.example.org", "TXT", '"v=spf1 -all"'))
        registry = Registry(under)
        changes = []
        for desired in desired_records(texts, under).records:
            owner = registry.parts(desired.record.slot, None, {"resource": "crd/default/www"})
            changes.append(Change(desired.record.slot, (Part(None, desired.record), *owner)))
        async with provider_at(handle) as provider:
            await provider.apply(EVERYTHING, changes)
            found = await provider.read(EVERYTHING)
            assert found.get(("www.example.org", "TXT", "")) == changes[1].parts[0].after
            assert under.values.decode(found.at("a-www.example.org")[0].targets[0]) is not None

    asyncio.run(story())
