"""Whatever a client sends to our webhook server: answered, and a 400 names the record."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark.providers.dns.endpoints import MEDIA_TYPE
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Record
from seamark.providers.dns.webhook_server import WebhookServer
from seamark_cluster.real.ports import Ports
from tests.unit.operator.providers.dns.test_webhook_answers import BODIES

ZONE = "example.test"
GOOD = {"dnsName": f"good.{ZONE}", "targets": ["192.0.2.1"], "recordType": "A"}


@asynccontextmanager
async def serving(provider: MemoryProvider) -> AsyncIterator[str]:
    runner = web.AppRunner(WebhookServer(provider).app, access_log=None)
    await runner.setup()
    with Ports("127.0.0.1") as ports:
        port = ports.reserve()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            await runner.cleanup()


def sent(provider: MemoryProvider, path: str, *bodies: bytes) -> list[tuple[int, bytes]]:
    async def story() -> list[tuple[int, bytes]]:
        answers = []
        async with serving(provider) as url, aiohttp.ClientSession() as session:
            for body in bodies:
                async with session.post(
                    url + path, data=io.BytesIO(body), headers={"Content-Type": MEDIA_TYPE}
                ) as answer:
                    answers.append((answer.status, await answer.read()))
        return answers

    return asyncio.run(story())


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"dnsName": 5}, "create[1]: "),
        ({**GOOD, "dnsName": r"a\.example.test"}, r"'a\\\\.example.test' 'A' can't be a record"),
        ({**GOOD, "targets": ["nonsense"]}, "'good.example.test' 'A' can't be a record"),
        (
            {"recordType": "MX", "dnsName": ZONE, "targets": ["1" * 5000 + " mail.example.test"]},
            "'MX' can't be a record",
        ),
        ({**GOOD, "labels": {"a": [[[]]]}}, "create[1]: "),
        ({**GOOD, "dnsName": "elsewhere.net"}, "elsewhere.net is in none of the zones"),
    ],
)
def test_a_bad_record_is_named_and_nothing_is_changed(bad: dict[str, Any], words: str) -> None:
    provider = MemoryProvider((ZONE,))
    [(status, body)] = sent(provider, "/records", msgspec.json.encode({"create": [GOOD, bad]}))
    assert status == 400
    assert words in body.decode()
    assert provider.updates == 0


def test_a_record_that_the_server_refuses_is_named_and_the_others_are_live() -> None:
    provider = MemoryProvider((ZONE,), deny=[f"no.{ZONE}"])
    bodies = msgspec.json.encode({"create": [GOOD, {**GOOD, "dnsName": f"no.{ZONE}"}]})
    [(status, body)] = sent(provider, "/records", bodies)
    assert status == 400
    assert b"create no.example.test A: the server refused it" in body
    assert provider.content(ZONE).at(f"good.{ZONE}")


def test_nested_and_large_messages_are_refused() -> None:
    deep = b'{"create": ' + b"[" * 100_000
    large = b'{"create": [' + b" " * (17 * 2**20)
    assert [status for status, _ in sent(MemoryProvider((ZONE,)), "/records", deep, large)] == [400, 413]


def test_a_text_that_is_no_utf_8_does_not_hide_the_other_records() -> None:
    provider = MemoryProvider((ZONE,))
    provider.put(Record(f"odd.{ZONE}", "TXT", (b"\xff\xfe ok".decode("utf-8", "surrogateescape"),), 60))
    provider.put(Record(f"www.{ZONE}", "A", ("192.0.2.1",), 60))

    async def story() -> list[Any]:
        async with (
            serving(provider) as url,
            aiohttp.ClientSession() as session,
            session.get(f"{url}/records", headers={"Accept": MEDIA_TYPE}) as answer,
        ):
            found: list[Any] = msgspec.json.decode(await answer.read())
            return found

    assert [one["targets"] for one in asyncio.run(story())] == [[r"\xff\xfe ok"], ["192.0.2.1"]]


@settings(max_examples=15, deadline=None)
@given(st.lists(BODIES, min_size=20, max_size=20), st.sampled_from(["/records", "/adjustendpoints"]))
def test_any_bytes_are_answered(bodies: list[bytes], path: str) -> None:
    wrapped = [b'{"create": ' + body + b"}" for body in bodies] if path == "/records" else bodies
    for status, _ in sent(MemoryProvider((ZONE,)), path, *bodies, *wrapped):
        assert status in (200, 204, 400)
