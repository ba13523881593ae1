"""Aliases and weighted records through a provider like that of Route 53 (rules 52, 59 and 64 to 67)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.txt import Values
from seamark.providers.dns.webhook import WebhookProvider
from tests.answering import Agreeing
from tests.dns.aws import BALANCER, AwsHook, adjusted, properties
from tests.dns.running import NAMESPACE, Cluster, cluster, endpoint, operating, until

ZONE = "example.test"
WWW = f"www.{ZONE}"
KEY = b"0123456789abcdef0123456789abcdef"


@asynccontextmanager
async def scene(hook: AwsHook, world: Cluster, values: Values | None = None) -> AsyncIterator[None]:
    async with hook.serving() as url:
        provider = WebhookProvider(url, timeout=5.0, querier=Agreeing())
        try:
            rules = Rules(zones=provider.zones, owner="me", set_identifiers=True, values=values or Values())
            async with operating(world, provider, rules):
                yield
        finally:
            await provider.close()


def held(hook: AwsHook) -> set[tuple[str, str, str]]:
    return set(hook.records)


def balanced(world: Cluster, **more: Any) -> None:
    world.apply("www", endpoint(WWW, "CNAME", BALANCER, **more))


@pytest.mark.parametrize("values", [Values(), Values(KEY)], ids=["plain", "encrypted"])
def test_a_cname_to_a_load_balancer_is_an_alias_that_is_owned_changed_and_deleted(values: Values) -> None:
    async def story() -> None:
        hook, world = AwsHook(), cluster()
        balanced(world)
        async with scene(hook, world, values):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            assert held(hook) == {
                (WWW, "A", ""),
                (WWW, "AAAA", ""),
                (f"a-{WWW}", "TXT", ""),
                (f"aaaa-{WWW}", "TXT", ""),
            }
            world.apply("www", endpoint(WWW, "CNAME", "www.example.net"))
            await until(lambda: world.ready("www") and len(hook.records) == 2, lambda: (world.says("www"), held(hook)))
            assert held(hook) == {(WWW, "CNAME", ""), (f"cname-{WWW}", "TXT", "")}
            balanced(world)
            await until(lambda: world.ready("www") and len(hook.records) == 4, lambda: (world.says("www"), held(hook)))
            world.delete("www")
            await until(lambda: world.get("www") is None, lambda: world.says("www"))
            assert held(hook) == set()

    asyncio.run(story())


@pytest.mark.parametrize("alias", ["a", "cname"])
def test_an_alias_of_external_dns_is_taken_over_without_one_change_and_deleted_with_its_object(alias: str) -> None:
    async def story() -> None:
        hook, world = AwsHook(), cluster()
        text = f'"heritage=external-dns,external-dns/owner=me,external-dns/resource=crd/{NAMESPACE}/www"'
        for form in adjusted(endpoint(WWW, "CNAME", BALANCER)):
            hook.records[WWW, form["recordType"], ""] = form
        for kind in (alias, "aaaa"):
            hook.records[f"{kind}-{WWW}", "TXT", ""] = endpoint(f"{kind}-{WWW}", "TXT", text, recordTTL=300)
        balanced(world)
        async with scene(hook, world):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            assert hook.asked["POST /records"] == 0
            world.delete("www")
            await until(lambda: world.get("www") is None, lambda: world.says("www"))
            assert held(hook) == set()

    asyncio.run(story())


def test_weighted_records_have_weighted_owners_and_a_property_can_be_removed() -> None:
    async def story() -> None:
        hook, world = AwsHook(), cluster()
        weight = {"name": "aws/weight", "value": "10"}
        check = {"name": "aws/health-check-id", "value": "x"}

        def weighted(*given: dict[str, str]) -> None:
            for name, address in (("one", "192.0.2.1"), ("two", "192.0.2.2")):
                record = endpoint(WWW, "A", address, setIdentifier=name, providerSpecific=list(given))
                world.apply(name, record)

        weighted(weight, check)
        async with scene(hook, world):
            await until(lambda: world.ready("one") and world.ready("two"), lambda: world.says("one"))
            assert len(hook.records) == 4
            assert all(properties(one)["aws/weight"] == "10" for one in hook.records.values())
            weighted({**weight, "value": "20"})
            await until(
                lambda: all(properties(one) == {"aws/weight": "20"} for one in hook.records.values()),
                lambda: hook.records,
            )
            await until(lambda: world.ready("one") and world.ready("two"), lambda: world.says("one"))
            world.delete("one")
            await until(lambda: world.get("one") is None, lambda: world.says("one"))
            assert held(hook) == {(WWW, "A", "two"), (f"a-{WWW}", "TXT", "two")}

    asyncio.run(story())


def test_an_ownership_record_stays_while_the_provider_still_lists_its_record() -> None:
    """Rule 65: it reports a deletion as done, and did nothing."""

    async def story() -> None:
        hook, world = AwsHook(), cluster()
        world.apply("www", endpoint(WWW, "A", "192.0.2.1"))
        async with scene(hook, world):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            before, change = dict(hook.records), hook._change

            def without_addresses(changes: dict[str, Any]) -> None:
                gone = [one for one in changes.get("delete") or () if one["recordType"] != "A"]
                change({**changes, "delete": gone})

            hook._change = without_addresses  # type: ignore[method-assign]  # it deletes no addresses
            world.delete("www")
            await until(lambda: hook.asked["POST /records"] > 3, lambda: hook.asked)
            await asyncio.sleep(1.0)
            assert hook.records == before
            assert world.get("www") is not None
            hook._change = change  # type: ignore[method-assign]
            await until(lambda: world.get("www") is None, lambda: world.says("www"))
            assert hook.records == {}

    asyncio.run(story())
