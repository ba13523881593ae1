"""A webhook provider that fails is called seldom (docs/spec/dns/dnsendpoint.md, rules 54 to 56)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web

from seamark.providers.dns.failurelimit import MOST_FAILURES, PAUSE, FailureLimit
from seamark.providers.dns.isolate import Outcome, apply_each
from seamark.providers.dns.model import Change, Part, Record
from seamark.providers.dns.webhook import EVERYTHING, WebhookProvider
from seamark_runtime.errors import Retry
from tests.unit.operator.providers.dns.test_webhook_answers import MEDIA, provider_at

Judge = Callable[[list[dict[str, Any]]], int]  # the records that a message creates → the status of its response


class Counting:
    """A provider whose writes succeed or fail by `judge`; with `partly`, what it does not refuse is applied anyway."""

    def __init__(self, judge: Judge, *, partly: str = "", **headers: str) -> None:
        self.judge = judge
        self.partly = partly
        self.headers = headers
        self.records: dict[tuple[str, str], dict[str, Any]] = {}
        self.requests: Counter[str] = Counter()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests[f"{request.method} {request.path}"] += 1
        if request.method == "GET":
            body = b"{}" if request.path == "/" else msgspec.json.encode(list(self.records.values()))
            return web.Response(body=body, headers={"Content-Type": MEDIA})
        created = msgspec.json.decode(await request.read()).get("create", [])
        status = self.judge(created)
        for record in created:
            if status == 204 or (self.partly and self.partly not in record["dnsName"]):
                self.records[record["dnsName"], record["recordType"]] = record
        return web.Response(status=status, headers=self.headers if status != 204 else {})

    @property
    def writes(self) -> int:
        return self.requests["POST /records"]

    @property
    def reads(self) -> int:
        return self.requests["GET /records"]


def create(number: int) -> Change:
    record = Record(f"h{number}.example.org", "A", ("192.0.2.1",), 60)
    owner = Record(f"a-h{number}.example.org", "TXT", ("heritage=external-dns,external-dns/owner=me",))
    return Change(record.slot, (Part(None, record), Part(None, owner)))


CHANGES = [create(number) for number in range(200)]


def always(_created: list[dict[str, Any]]) -> int:
    return 500


def unless(name: str) -> Judge:
    return lambda created: 500 if any(name in record["dnsName"] for record in created) else 204


async def attempted(provider: WebhookProvider, changes: list[Change] = CHANGES) -> Outcome:
    outcome = Outcome()
    await apply_each(provider, EVERYTHING, changes, outcome)
    return outcome


def test_a_provider_that_refuses_everything_is_not_asked_about_every_record() -> None:
    counting = Counting(always)

    async def story() -> None:
        async with provider_at(counting.handle) as provider:
            with pytest.raises(Retry, match="POST /records of the webhook provider answered 500") as stopped:
                await attempted(provider)
            assert stopped.value.after is not None
            assert 0 < stopped.value.after <= PAUSE
            assert counting.writes <= MOST_FAILURES
            assert counting.reads <= 2
            before = counting.requests.copy()
            for _ in range(50):
                with pytest.raises(Retry, match="answered 500"):
                    await attempted(provider)
            assert counting.requests == before, "until the pause is over there is no request at all"

    asyncio.run(story())


def test_one_refused_record_among_two_hundred_is_found_with_few_full_reads() -> None:
    """Before it, after the first ownership records below a name, and after the first failure."""
    counting = Counting(unless("h77."))

    async def story() -> Outcome:
        async with provider_at(counting.handle) as provider:
            return await attempted(provider)

    assert [change.slot[0] for change in asyncio.run(story()).refused] == ["h77.example.org"]
    assert counting.reads <= 3
    assert len([1 for _, type_ in counting.records if type_ == "A"]) == 199


def test_what_a_failed_message_has_applied_is_not_sent_again() -> None:
    """In-tree providers apply what they can, and then answer 500: their next listing shows the cause at once."""
    counting = Counting(unless("-h77."), partly="h77.")

    async def story() -> Outcome:
        async with provider_at(counting.handle) as provider:
            return await attempted(provider)

    asyncio.run(story())
    assert counting.writes <= 24
    assert counting.reads <= 3


def test_a_retry_after_is_respected_by_every_write() -> None:
    counting = Counting(lambda _created: 429, **{"Retry-After": "40"})

    async def story() -> None:
        async with provider_at(counting.handle) as provider:
            for number in range(20):
                with pytest.raises(Retry, match="answered 429") as stopped:
                    await attempted(provider, [create(number)])
                assert stopped.value.after is not None
                assert 39 < stopped.value.after <= 40

    asyncio.run(story())
    assert counting.writes == 1


def test_a_retry_after_can_be_a_date() -> None:
    date, later = "Thu, 01 Jan 2026 00:00:00 GMT", "Thu, 01 Jan 2026 00:00:25 GMT"
    counting = Counting(lambda _created: 503, **{"Date": date, "Retry-After": later})

    async def story() -> float | None:
        async with provider_at(counting.handle) as provider:
            with pytest.raises(Retry) as stopped:
                await attempted(provider, [create(1)])
            return stopped.value.after

    assert asyncio.run(story()) == 25


def test_failures_in_a_row_are_limited_to_five_a_minute_and_a_success_ends_that() -> None:
    limit, now = FailureLimit(), 100.0
    for _ in range(MOST_FAILURES):
        assert limit.wait(now) == 0
        limit.failed(now, "no")
    attempts = 0
    while now < 160:
        if limit.wait(now) == 0:
            attempts += 1
            limit.failed(now, "no")
        now += 0.5
    assert attempts <= 5
    limit.succeeded()
    assert limit.wait(now) == 0
    assert not limit.exhausted


def test_a_change_that_failed_before_leaves_the_next_attempt_to_others() -> None:
    limit = FailureLimit()
    for _ in range(MOST_FAILURES):
        limit.failed(100.0, "no", ("bad",))
    assert limit.wait(100.0, ("new", "bad")) == PAUSE
    assert limit.wait(100.0, ("bad",)) == 2 * PAUSE
