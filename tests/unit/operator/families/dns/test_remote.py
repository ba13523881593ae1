"""What is done outside, and which facts it leaves (rules 20, 22 and 24)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from seamark.families.dns.model.metrics import DnsMetrics
from seamark.families.dns.model.responses import Responses
from seamark.families.dns.remote import NOT_SERVED, Remote
from seamark.families.dns.zone.state import Read, Update
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Change, Content, Moved, Part, Provider, Record
from seamark_runtime.errors import Refused, Retry
from seamark_runtime.source import Fresh, Stale

ZONE = "example.org"


def create(name: str) -> Change:
    record = Record(f"{name}.{ZONE}", "A", ("192.0.2.1",), 300)
    return Change(record.slot, (Part(None, record),))


def built(provider: Provider, now: Callable[[], float] | None = None) -> tuple[Remote, Responses]:
    responses = Responses(60.0, adjusts=provider.adjusts)
    return Remote(provider, responses, DnsMetrics(), now), responses


class Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_was_read_goes_stale_and_a_confirmation_at_rest_requeues_nothing() -> None:
    provider, time = MemoryProvider((ZONE,)), Time()
    remote, responses = built(provider, time)
    changed: list[object] = []
    responses.contents.subscribe(lambda _source, token: changed.append(token))

    def read() -> None:
        asyncio.run(remote.perform(Read(ZONE)))

    read()
    time.now += 20
    read()
    assert changed == [ZONE]
    time.now += 20
    read()
    assert changed == [ZONE, ZONE]  # the last confirmation had grown old
    time.now += 59
    assert isinstance(responses.contents.get(ZONE, time.now), Fresh)
    time.now += 1
    assert isinstance(responses.contents.get(ZONE, time.now), Stale)


def test_a_refusal_is_remembered_until_the_server_takes_it() -> None:
    async def story() -> None:
        provider = MemoryProvider((ZONE,), deny=[f"no.{ZONE}"])
        remote, responses = built(provider)
        await remote.perform(Read(ZONE))
        await remote.perform(Update(ZONE, (create("yes"), create("no"))))
        fact = responses.refusals.get(ZONE, 0.0)
        assert isinstance(fact, Fresh)
        assert fact.value == {create("no"): "the server refused it (REFUSED)"}
        with pytest.raises(Refused, match="REFUSED"):
            await remote.perform(Update(ZONE, (create("no"),), alone=True))
        provider.deny.clear()
        await remote.perform(Update(ZONE, (create("no"),), alone=True))
        fact = responses.refusals.get(ZONE, 0.0)
        assert isinstance(fact, Fresh)
        assert fact.value == {}

    asyncio.run(story())


def test_a_change_that_starts_from_what_is_no_more_is_not_even_sent() -> None:
    async def story() -> None:
        provider = MemoryProvider((ZONE,))
        remote, _ = built(provider)
        await remote.perform(Read(ZONE))
        await remote.perform(Update(ZONE, (create("a"),)))
        sent = provider.updates
        await remote.perform(Update(ZONE, (create("a"),)))
        assert provider.updates == sent

    asyncio.run(story())


def test_a_change_by_another_writer_since_the_last_read_is_reported_and_read() -> None:
    async def story() -> None:
        provider = MemoryProvider((ZONE,))
        remote, responses = built(provider)
        await remote.perform(Read(ZONE))
        provider.put(Record(f"a.{ZONE}", "A", ("192.0.2.66",), 300))
        with pytest.raises(Moved, match="changed by another writer"):
            await remote.perform(Update(ZONE, (create("a"), create("b"))))
        fact = responses.contents.get(ZONE, 0.0)
        assert isinstance(fact, Fresh)
        assert set(fact.value.names) == {f"a.{ZONE}", f"b.{ZONE}"}

    asyncio.run(story())


class Forgetful(MemoryProvider):
    """Says yes, and serves nothing: what a server does with a CNAME beside other records."""

    async def apply(self, zone: str, changes: Sequence[Change]) -> None:
        self.updates += 1


def test_what_the_server_took_and_does_not_serve_counts_as_refused() -> None:
    async def story() -> None:
        remote, responses = built(Forgetful((ZONE,)))
        await remote.perform(Read(ZONE))
        await remote.perform(Update(ZONE, (create("a"),)))
        fact = responses.refusals.get(ZONE, 0.0)
        assert isinstance(fact, Fresh)
        assert fact.value == {create("a"): NOT_SERVED}

    asyncio.run(story())


class Unreadable(MemoryProvider):
    async def read(self, zone: str) -> Content:
        raise Retry("the transfer was cut")


def test_a_cut_transfer_leaves_no_fact() -> None:
    remote, responses = built(Unreadable((ZONE,)))
    with pytest.raises(Retry, match="cut"):
        asyncio.run(remote.perform(Read(ZONE)))
    assert not isinstance(responses.contents.get(ZONE, 0.0), Fresh | Stale)
