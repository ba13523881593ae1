"""A webhook provider that answers anything at all: its reports, and that the next good answer is enough."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seamark.families.dns.model.options import Intervals
from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.failurelimit import MOST_FAILURES
from seamark.providers.dns.webhook import WebhookProvider
from tests.answering import Agreeing
from tests.dns.hooks import Asked, Hook, Mode, Reply
from tests.dns.running import TIMING, Cluster, cluster, endpoint, operating, until

ZONE = "example.test"
SECRET = "ak-2Zq8vN4mT7hooksecret"  # a mark to look for, not a credential
LIMIT = 16 * 1024 * 1024
TIMEOUT = 1.0
SOON = 15.0  # seconds in which a provider that answers again is noticed, after a short outage


@dataclass
class Scene:
    hook: Hook
    world: Cluster

    def apply(self, name: str) -> None:
        self.world.apply(name, endpoint(f"{name}.{ZONE}", "A", "192.0.2.1", recordTTL=60))

    async def ready(self, *names: str, seconds: float = SOON) -> None:
        await until(
            lambda: all(map(self.world.ready, names)), lambda: [self.world.says(name) for name in names], seconds
        )

    async def failed(self, name: str, words: str, seconds: float = SOON) -> None:
        def says() -> bool:
            _, reason, message = self.world.says(name)
            return reason == "Failed" and words in message

        await until(says, lambda: (words, self.world.says(name)), seconds)


@asynccontextmanager
async def scene(timeout: float = TIMEOUT, timing: Intervals = TIMING) -> AsyncIterator[Scene]:
    hook, world = Hook(), cluster()
    async with hook.serving() as url:
        provider = WebhookProvider(url, timeout=timeout, largest=LIMIT, querier=Agreeing())
        try:
            rules = Rules(zones=provider.zones, owner="me", set_identifiers=True)
            async with operating(world, provider, rules, timing):
                yield Scene(hook, world)
        finally:
            await provider.close()


def records(body: bytes) -> Mode:
    def answer(asked: Asked, reply: Reply) -> None:
        if asked.route == "GET /records":
            reply.body = body

    return answer


def record(**fields: Any) -> Mode:
    return records(
        json.dumps([{"dnsName": f"x.{ZONE}", "recordType": "A", "targets": ["192.0.2.9"], **fields}]).encode()
    )


def everywhere(status: int, body: bytes = b"", media: str = "text/html", extra: str = "") -> Mode:
    def answer(_asked: Asked, reply: Reply) -> None:
        reply.status, reply.body, reply.media, reply.extra = status, body, media, extra

    return answer


def half(_asked: Asked, reply: Reply) -> None:
    reply.length = len(reply.body) + 1000


def tiny(_asked: Asked, reply: Reply) -> None:
    async def write(writer: asyncio.StreamWriter, body: bytes) -> None:
        for number in range(len(body)):
            writer.write(body[number : number + 1])
            await writer.drain()
            await asyncio.sleep(0.05)

    reply.write = write


def endless(asked: Asked, reply: Reply) -> None:
    async def write(writer: asyncio.StreamWriter, _body: bytes) -> None:
        while True:
            writer.write(b" " * 65536)
            await writer.drain()

    if asked.route == "GET /records":
        reply.length, reply.write = 2**62, write


def never(_asked: Asked, reply: Reply) -> None:
    async def write(_writer: asyncio.StreamWriter, _body: bytes) -> None:
        await asyncio.sleep(3600)

    reply.write = write


def sixty_megabytes(asked: Asked, reply: Reply) -> None:
    if asked.route == "GET /records":
        one = b'{"dnsName":"a.example.test","recordType":"A","targets":["192.0.2.4"]}'
        reply.body = b"[" + b",".join([one] * 900_000) + b"]"


READS = "GET /records of the webhook provider"
TROUBLES: dict[str, tuple[Mode, str]] = {
    "half an answer": (half, READS),
    "a byte at a time": (tiny, f"{READS}: no answer within 1 s"),
    "never": (never, f"{READS}: no answer within 1 s"),
    "endless": (endless, READS),
    "60 MB": (sixty_megabytes, READS),
    "a TTL beyond any number": (records(b'[{"dnsName":"x.example.test","recordTTL":1e400}]'), "record 0: "),
    "a TTL of 5,000 digits": (records(b'[{"recordTTL":' + b"9" * 5000 + b"}]"), "record 0: "),
    "a TTL in words": (record(recordTTL="soon"), "record 0: "),
    "targets that are no strings": (record(targets=[1, None, {}]), "record 0: "),
    "targets that are no list": (record(targets="192.0.2.9"), "record 0: "),
    "no JSON": (records(b"[{]"), "answered nonsense"),
    "an object": (records(b'{"a": 1}'), "answered nonsense"),
    "nothing": (records(b""), "answered nonsense"),
    "200,000 levels": (records(b"[" * 200_000), "answered nonsense"),
    "HTML": (everywhere(200, b"<html><script>alert(1)</script></html>"), "the media type 'text/html'"),
    "a redirect": (everywhere(302, extra="Location: http://127.0.0.1:1/metrics\r\n"), f"{READS} answered 302"),
    "429": (everywhere(429, extra="Retry-After: 1\r\n"), f"{READS} answered 429"),
    "500 with a secret": (everywhere(500, f"<html>token {SECRET}</html>".encode()), f"{READS} answered 500"),
}


def resident() -> float:
    """Megabytes of this process."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


@pytest.mark.parametrize(("mode", "words"), TROUBLES.values(), ids=list(TROUBLES))
def test_what_can_t_be_read_is_said_and_the_next_good_answer_is_enough(mode: Mode, words: str) -> None:
    """Rules 24, 33, 40 and 56: nothing that stands is touched, the message is of this failure, and it ends by itself.

    A new record may be made by a reading of the last 5 s.
    """

    async def story() -> None:
        async with scene() as at:
            at.apply("www")
            await at.ready("www")
            before, standing = resident(), dict(at.hook.records)
            at.hook.behave(mode)
            at.apply("new")
            await at.failed("new", words)
            assert resident() - before < 250
            assert {slot: at.hook.records.get(slot) for slot in standing} == standing
            assert SECRET not in json.dumps(at.world.history)
            at.hook.behave()
            await at.ready("www", "new")
            assert all(state[0] != "False" for state in ready_history(at.world, "www")), "an outage is no refusal"

    asyncio.run(story())


def ready_history(world: Cluster, name: str) -> list[tuple[str, str]]:
    """Status and message of Ready in every status that was written, once it was True."""
    found = [
        (one["status"], one["message"])
        for state in world.history[name]
        for one in state["status"]["conditions"]
        if one["type"] == "Ready"
    ]
    return found[[status for status, _ in found].index("True") :]


def beside(*foreign: dict[str, Any]) -> Mode:
    """These foreign records, beside ours."""
    more = json.dumps(foreign, indent=1).encode()

    def answer(asked: Asked, reply: Reply) -> None:
        if asked.route == "GET /records":
            reply.body = b"[" + b",".join(one[1:-1] for one in (reply.body, more) if len(one) > 2) + b"]"

    return answer


ODD: dict[str, tuple[dict[str, Any], ...]] = {
    "a negative TTL": ({"dnsName": f"x.{ZONE}", "recordType": "A", "targets": ["192.0.2.1"], "recordTTL": -5},),
    "a TTL of 400 digits": ({"dnsName": f"x.{ZONE}", "recordType": "A", "recordTTL": int("9" * 400)},),
    "names and targets that are none": ({"dnsName": "a\0b\r\n", "recordType": "A", "targets": ["\x1b[31m"]}, {}),
    "10 MB": tuple(
        {"dnsName": f"x{i}.{ZONE}", "recordType": "A", "targets": ["192.0.2.1"], "recordTTL": 300}
        for i in range(90_000)
    ),
}


@pytest.mark.parametrize("foreign", ODD.values(), ids=list(ODD))
def test_odd_and_many_records_of_others_keep_nothing_from_being_served(foreign: tuple[dict[str, Any], ...]) -> None:
    """Rule 33: what no name server could hold is left out; 10 MB are an answer like any other."""

    async def story() -> None:
        async with scene(30.0, Intervals(poll=5.0)) as at:  # 10 MB take seconds
            at.hook.behave(beside(*foreign))
            at.apply("www")
            await at.ready("www", seconds=240)

    assert len(json.dumps(ODD["10 MB"], indent=1)) > 10_000_000
    asyncio.run(story())


def leave_out(asked: Asked, reply: Reply) -> None:
    if asked.route == "POST /adjustendpoints":
        reply.body = b"[]"


def rename(asked: Asked, reply: Reply) -> None:
    if asked.route == "POST /adjustendpoints":
        evil = [{**one, "dnsName": f"evil.{ZONE}", "targets": ["192.0.2.66"]} for one in json.loads(asked.body)]
        reply.body = json.dumps(evil).encode()


@pytest.mark.parametrize("mode", [leave_out, rename])
def test_a_record_that_the_provider_left_out_once_is_asked_for_again(mode: Mode) -> None:
    """Rule 39: its answer expires. It is asked again, not too often, and the status does not change in between."""

    async def story() -> None:
        async with scene() as at:
            names = [f"h{number}" for number in range(14)]
            at.hook.behave(mode)
            for name in names:
                at.apply(name)
            for name in names:
                await at.failed(name, f"the provider does not take {name}.{ZONE} A")
            written, asked = at.world.status_writes, at.hook.asked["POST /adjustendpoints"]
            await asyncio.sleep(5.0)
            again = at.hook.asked["POST /adjustendpoints"] - asked
            assert 1 <= again <= 10, "it is asked again, and not with every look"
            assert at.world.status_writes == written
            assert not any(name.startswith("evil") for name, _, _ in at.hook.records)
            at.hook.behave()
            await at.ready(*names, seconds=31)

    asyncio.run(story())


def refuse(asked: Asked, reply: Reply) -> None:
    if asked.route == "POST /records":
        reply.status = 400


def test_a_change_that_was_refused_is_tried_again_and_the_words_are_those_of_the_last_failure() -> None:
    """Rules 18, 39 and 40: while the provider can't be read, the status reports that."""

    async def story() -> None:
        async with scene() as at:
            at.hook.behave(refuse)
            names = [f"h{number}" for number in range(5)]
            for name in names:
                at.apply(name)
            for name in names:
                await at.failed(name, "POST /records of the webhook provider answered 400")
            at.hook.behave(everywhere(500))
            for name in names:
                await at.failed(name, f"{READS} answered 500")
            at.hook.behave(everywhere(302))
            await at.failed("h0", f"{READS} answered 302")
            at.hook.behave()
            await at.ready(*names, seconds=40)

    asyncio.run(story())


def test_a_domain_filter_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules 5 and 39: a record that it kept out is served when it does not any more; garbage is reported, and ends."""
    monkeypatch.setattr("seamark.providers.dns.webhook.FILTER_SECONDS", 1.0)

    async def story() -> None:
        async with scene() as at:
            at.hook.filter = {"include": ["example.net"]}
            at.apply("www")
            await at.failed("www", f"does not serve www.{ZONE}")
            at.hook.filter = {"include": [ZONE]}
            await at.ready("www")
            at.hook.filter = {"regexInclude": "(a+)+$(" * 50}
            at.hook.behave()
            await until(lambda: at.hook.asked["GET /"], "the filter is asked for again")
            at.apply("new")
            await at.failed("new", "its domain filter can't be applied")
            at.hook.filter = ["no", {"filter": 1}]
            await at.failed("new", "GET / of the webhook provider answered nonsense")
            at.hook.filter = {}
            await at.ready("www", "new")

    asyncio.run(story())


def test_a_provider_that_wants_to_be_let_alone_is_and_no_record_is_blamed() -> None:
    """Rule 41: 429 is about the provider; it is asked again when it says, and within a minute whatever it says."""

    def busy(asked: Asked, reply: Reply) -> None:
        if asked.route == "POST /records":
            reply.status, reply.extra = 429, "Retry-After: 3\r\n"

    async def story() -> None:
        async with scene() as at:
            at.hook.behave(busy)
            for number in range(8):
                at.apply(f"h{number}")
            await at.failed("h0", "POST /records of the webhook provider answered 429")
            started = time.monotonic()
            await until(lambda: at.hook.asked["POST /records"] > 2, lambda: at.hook.asked)
            times = [at_ for route, at_ in at.hook.times if route == "POST /records"]
            assert time.monotonic() - started > 2
            assert min(later - sooner for sooner, later in pairwise(times)) > 2.5
            at.hook.behave()
            await at.ready(*(f"h{number}" for number in range(8)))

    asyncio.run(story())


def test_a_provider_that_refuses_every_change_is_called_seldom_and_soon_again_when_it_works() -> None:
    """Rules 54 and 55: 200 records and always 500; without a limit that is hundreds of requests a second."""

    def broken(asked: Asked, reply: Reply) -> None:
        if asked.route == "POST /records":
            reply.status = 500

    async def story() -> None:
        async with scene(timing=Intervals(spacing=0.05, poll=30.0, shelf_life=120.0)) as at:
            at.hook.behave(broken)
            names = [f"h{number}" for number in range(200)]
            for name in names:
                at.apply(name)
            await at.failed("h199", "POST /records of the webhook provider answered 500")
            await asyncio.sleep(20.0)
            assert at.hook.asked["POST /records"] <= MOST_FAILURES + 3
            assert at.hook.asked["GET /records"] <= 10
            at.hook.behave()
            await at.ready(*names, seconds=90)
            assert at.hook.asked["GET /records"] <= 30

    asyncio.run(story())


def test_a_slow_listing_delays_and_fails_nothing() -> None:
    """Rule 57: the deadline of a listing is its own."""

    def slow(asked: Asked, reply: Reply) -> None:
        async def write(writer: asyncio.StreamWriter, body: bytes) -> None:
            await asyncio.sleep(3.0)
            writer.write(body)

        if asked.route == "GET /records":
            reply.write = write

    async def story() -> None:
        async with scene(timeout=30.0, timing=Intervals(spacing=0.05, poll=1.0, shelf_life=20.0)) as at:
            at.hook.behave(slow)
            at.apply("www")
            await at.ready("www")

    asyncio.run(story())
