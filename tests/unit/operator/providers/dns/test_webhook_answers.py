"""Whatever a webhook provider answers: read whole, within its limits, and reported by declared errors alone."""

from __future__ import annotations

import asyncio
import gc
import gzip
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark.providers.dns.model import Change, Part, Record, RecordRefused
from seamark.providers.dns.webhook import EVERYTHING, WebhookProvider
from seamark_cluster.real.ports import Ports
from seamark_runtime.errors import Retry, SeamarkError

MEDIA = "application/external.dns.webhook+json;version=1"
MANY = 10_000
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def records(number: int) -> bytes:
    return msgspec.json.encode(
        [
            {"dnsName": f"h{one}.example.org", "targets": ["192.0.2.1"], "recordType": "A", "recordTTL": 300}
            for one in range(number)
        ]
    )


def answering(body: bytes, path: str = "/records", **headers: str) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        said = body if request.path == path else b"{}" if request.path == "/" else b"[]"
        return web.Response(body=said, headers={"Content-Type": MEDIA, **(headers if request.path == path else {})})

    return handle


@asynccontextmanager
async def provider_at(handle: Handler, **more: float) -> AsyncIterator[WebhookProvider]:
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/{anything:.*}", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    with Ports("127.0.0.1") as ports:
        port = ports.reserve()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        provider = WebhookProvider(f"http://127.0.0.1:{port}", **{"timeout": 20.0, **more})  # type: ignore[arg-type]  # as given
        try:
            yield provider
        finally:
            await provider.close()
            await runner.cleanup()


def read(handle: Handler, **more: float) -> int:
    """How many names it has."""

    async def story() -> int:
        async with provider_at(handle, **more) as provider:
            return len((await provider.read(EVERYTHING)).names)

    return asyncio.run(story())


def test_ten_thousand_records_are_read_whole() -> None:
    assert read(answering(records(MANY))) == MANY


def test_ten_thousand_records_are_sent_to_be_adjusted() -> None:
    async def echo(request: web.Request) -> web.StreamResponse:
        return web.Response(body=await request.read(), headers={"Content-Type": MEDIA})

    async def story() -> int:
        async with provider_at(echo) as provider:
            asked = [Record(f"h{number}.example.org", "TXT", ("x" * 200,)) for number in range(MANY)]
            return len(await provider.adjust(asked))

    assert asyncio.run(story()) == MANY


def test_an_answer_that_is_cut_off_is_no_answer() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        if request.path == "/":
            return web.Response(body=b"{}", headers={"Content-Type": MEDIA})
        response = web.StreamResponse(headers={"Content-Type": MEDIA, "Content-Length": "5000"})
        await response.prepare(request)
        await response.write(records(10)[:500])
        assert request.transport is not None
        request.transport.abort()
        return response

    with pytest.raises(Retry):
        read(cut)


def test_a_large_answer_does_not_hold_the_loop() -> None:
    """The most work between two looks at the loop, while 10,000 records are read and compared."""

    async def story() -> float:
        longest = 0.0

        async def look() -> None:
            nonlocal longest
            while True:
                before = time.thread_time()
                await asyncio.sleep(0)
                longest = max(longest, time.thread_time() - before)

        body = records(MANY)
        async with provider_at(answering(body)) as provider:
            await provider.read(EVERYTHING)
            looking = asyncio.ensure_future(look())
            gc.disable()  # a collection costs what the whole test program has in memory
            try:
                await provider.read(EVERYTHING)
            finally:
                gc.enable()
                looking.cancel()
        return longest

    assert asyncio.run(story()) < 0.05


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_beyond_the_limit_is_refused_and_the_limit_is_named(packed: bool) -> None:
    body = b"[" + b" " * 40_000_000 + b"]"
    handle = answering(gzip.compress(body), **{"Content-Encoding": "gzip"}) if packed else answering(body)
    with pytest.raises(Retry, match="more than 1000000 bytes, which is the limit"):
        read(handle, largest=1_000_000)


def test_the_deadline_is_for_the_whole_answer() -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": MEDIA})
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.02)

    with pytest.raises(Retry, match=r"no answer within 0.3 s"):
        read(slow, timeout=0.3)


def test_a_redirect_is_not_followed() -> None:
    seen: list[str] = []

    async def elsewhere(request: web.Request) -> web.StreamResponse:
        seen.append(request.path)
        raise web.HTTPFound("/elsewhere")

    with pytest.raises(Retry, match="answered 302"):
        read(elsewhere)
    assert seen == ["/"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"exclude": ["a\\\\.example.org"]}', "its domain filter can't be applied: exclude: "),
        (b'{"regexExclude": "("}', "its domain filter can't be applied: regex_exclude: "),
        (b'{"regexExclude": "b\xc3\xbccher"}', "write the pattern in ASCII"),
        (b'{"include": 1}', "answered nonsense: .*include"),
        (b"[" * 100_000, "levels of nested"),
    ],
)
def test_a_filter_that_can_t_be_applied_serves_nothing(body: bytes, words: str) -> None:
    with pytest.raises(Retry, match=words):
        read(answering(body, "/"))


def test_a_filter_in_any_spelling_keeps_a_name_out() -> None:
    async def story() -> None:
        filtering = answering('{"exclude": ["Bücher.example.org."]}'.encode(), "/")
        async with provider_at(filtering) as provider:
            record = Record("www.xn--bcher-kva.example.org", "A", ("192.0.2.1",), 60)
            await provider.apply(EVERYTHING, [Change(record.slot, (Part(None, record),))])

    with pytest.raises(RecordRefused, match=r"does not serve www\.xn--bcher-kva\.example\.org"):
        asyncio.run(story())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'[{"dnsName": "a.example.org"}, {"dnsName": 5}]', r"record 1: .*dnsName"),
        (b'[{"dnsName": "\xff"}]', "record 0: "),
        (b'[{"recordTTL": ' + b"9" * 5000 + b"}]", "record 0: "),
        (b'[{"labels": ' + b"[" * 5000 + b"]" * 5000 + b"}]", "record 0: .*levels of nested"),
        (b'[{"targets": ["' + b"x" * 2**21 + b'"]}]', "item 0 has more than 1048576 bytes"),
    ],
)
def test_a_record_that_can_t_be_read_is_named(body: bytes, words: str) -> None:
    with pytest.raises(Retry, match=f"GET /records of the webhook provider answered nonsense: {words}"):
        read(answering(body))


HUGE = "1" * 5000
ODD = ["10 mail.example.org", f"{HUGE} mail.example.org", f"{HUGE} 1 1 a.", f'{HUGE} 1 "" "" "" a.', '"' * 500, "::1%x"]
ENDPOINTS = st.fixed_dictionaries(
    {},
    optional={
        "dnsName": st.text(max_size=20) | st.sampled_from(["a.example.org", "*", r"a\.b", "ü" * 70, "a" * 300]),
        "recordType": st.sampled_from(["A", "AAAA", "MX", "SRV", "NAPTR", "TXT", "CNAME", "X", ""]),
        "targets": st.none() | st.lists(st.text(max_size=10) | st.sampled_from(ODD), max_size=3),
        "recordTTL": st.integers(-(2**62), 2**62),
        "labels": st.none() | st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
        "providerSpecific": st.none() | st.lists(st.fixed_dictionaries({"name": st.text(max_size=3)}), max_size=2),
    },
)
BODIES = st.binary(max_size=80) | st.lists(ENDPOINTS, max_size=4).map(msgspec.json.encode)


@settings(max_examples=15, deadline=None)
@given(st.lists(BODIES, min_size=20, max_size=20), st.sampled_from(["/", "/records"]))
def test_any_bytes_give_a_content_or_a_declared_error(bodies: list[bytes], path: str) -> None:
    async def story() -> None:
        left = list(bodies)

        async def handle(request: web.Request) -> web.StreamResponse:
            return await answering(left[-1], path)(request)

        async with provider_at(handle) as provider:
            while left:
                for asked in (provider.read(EVERYTHING), provider.adjust([Record("a.test", "A", ("192.0.2.1",))])):
                    try:
                        await asked
                    except SeamarkError as error:
                        error.message.encode()
                left.pop()

    asyncio.run(story())


@settings(max_examples=10, deadline=None)
@given(st.lists(st.binary(max_size=60), min_size=10, max_size=10))
def test_any_bytes_in_place_of_http_give_a_declared_error(answers: list[bytes]) -> None:
    heads = [b"", b"HTTP/1.1 200 OK\r\n", f"HTTP/1.1 200 OK\r\nContent-Type: {MEDIA}\r\n".encode()]

    async def story() -> None:
        left = [head + answer for head in heads for answer in answers]

        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(left[-1])
            writer.close()

        with Ports("127.0.0.1") as ports:
            port = ports.reserve()
            async with await asyncio.start_server(speak, "127.0.0.1", port):
                while left:
                    provider = WebhookProvider(f"http://127.0.0.1:{port}", timeout=5.0)
                    with pytest.raises(SeamarkError) as told:
                        await provider.read(EVERYTHING)
                    told.value.message.encode()
                    await provider.close()
                    left.pop()

    asyncio.run(story())
