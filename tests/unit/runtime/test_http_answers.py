"""Whatever a server answers in place of HTTP: no answer, reported as that and by no other error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark_cluster.real.ports import Ports
from seamark_runtime.connection import Connection
from seamark_runtime.http import HttpTransport
from seamark_runtime.transport import NoAnswerError
from tests.unit.runtime.test_http import GET, transport

HEADS = [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"]
ODD = {
    "a cookie without end": b"HTTP/1.1 200 OK\r\nSet-Cookie: \xff=\xed\xa0\x80;\r\nContent-Length: 9\r\n\r\n",
    "a length that is no number": b"HTTP/1.1 200 OK\r\nContent-Length: \xd9\xa1\r\n\r\n",
    "a length of many digits": b"HTTP/1.1 200 OK\r\nContent-Length: %b\r\n\r\n" % (b"9" * 5000),
    "a chunk of many digits": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%b\r\n" % (b"f" * 5000),
    "an encoding that it is not": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    "a status of many digits": b"HTTP/1.1 %b OK\r\n\r\n" % (b"2" * 5000),
    "a link that is none": b"HTTP/1.1 200 OK\r\nLink: <http://[>; rel=a\r\nContent-Length: 9\r\n\r\n",
}


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[HttpTransport]:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer)
        writer.close()

    with Ports("127.0.0.1") as ports:
        port = ports.reserve()
        async with (
            await asyncio.start_server(speak, "127.0.0.1", port),
            transport(Connection(base_url=f"http://127.0.0.1:{port}")) as made,
        ):
            yield made


async def asked(made: HttpTransport) -> int:
    """How many of a request and two streams got no answer. Any other error goes through."""
    return sum([await refused(made.send(GET)), await refused(read(made)), await refused(followed(made))])


async def refused(request: Awaitable[object]) -> bool:
    try:
        await request
    except NoAnswerError as error:
        str(error).encode()
        return True
    return False


async def read(made: HttpTransport) -> None:
    async with made.stream(GET) as stream:
        await stream.read()


async def followed(made: HttpTransport) -> None:
    async with made.stream(GET) as stream:
        async for _ in stream.chunks():
            pass


@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
def test_an_odd_answer_is_no_answer(answer: bytes) -> None:
    async def story() -> None:
        async with answering(answer) as made:
            assert await asked(made) == 3

    asyncio.run(story())


@settings(max_examples=20, deadline=None)
@given(st.lists(st.binary(max_size=60), min_size=5, max_size=5))
def test_any_bytes_in_place_of_http_are_an_answer_or_none(answers: list[bytes]) -> None:
    async def story() -> None:
        for answer in [head + each for head in HEADS for each in answers]:
            async with answering(answer) as made:
                await asked(made)

    asyncio.run(story())


def raising(*_arguments: object, **_more: object) -> object:
    raise ValueError("a header that the library does not expect")


@pytest.mark.parametrize(
    ("part", "name"), [(aiohttp.ClientSession, "_request"), (aiohttp.StreamReader, "iter_any")], ids=["head", "body"]
)
def test_what_the_library_does_not_expect_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, part: type[object], name: str
) -> None:
    """Which answers it raises that for differs from version to version."""
    monkeypatch.setattr(part, name, raising)

    async def story() -> None:
        async with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") as made:
            assert await asked(made) == 3

    asyncio.run(story())
