"""A name server that answers anything, and BIND behind it: its reports, and that the next good answer is enough."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random

import pytest

from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.link import Server
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from tests.answering import Agreeing
from tests.dns.conversations import Conversations
from tests.dns.running import cluster, endpoint, operating, until
from tests.dns.servers import KEY, ZONE, ZONES, Bind

HOST = "127.0.0.1"
SOON = 15.0
CHANCE = Random(1)
Mode = Callable[[asyncio.StreamWriter, bytes], Awaitable[None]]  # writes something in place of BIND's message


def framed(message: bytes, length: int | None = None) -> bytes:
    return struct.pack("!H", len(message) if length is None else length) + message


def sending(change: Callable[[bytes], bytes]) -> Mode:
    async def write(writer: asyncio.StreamWriter, message: bytes) -> None:
        writer.write(change(message))

    return write


async def tiny(writer: asyncio.StreamWriter, message: bytes) -> None:
    for byte in framed(message):
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)


async def half(writer: asyncio.StreamWriter, message: bytes) -> None:
    writer.write(framed(message, len(message) + 100))
    writer.close()


async def never(_writer: asyncio.StreamWriter, _message: bytes) -> None:
    await asyncio.sleep(3600)


TROUBLES: dict[str, tuple[Mode, str]] = {
    "truncated": (sending(lambda message: framed(message[:2] + b"\x86\x00" + bytes(8))), "answered nonsense"),
    "cut within a record": (sending(lambda message: framed(message[:-20])), "answered nonsense"),
    "a header alone": (sending(lambda message: framed(message[:5])), "answered nonsense"),
    "nothing": (sending(lambda _: framed(b"")), "answered nonsense"),
    "garbage": (sending(lambda _: framed(CHANCE.randbytes(400))), "answered nonsense"),
    "names that loop": (
        sending(lambda message: framed(message[:2] + b"\x84\x00\x00\x01\xff\xff\0\0\0\0" + b"\xc0\x0c" * 40)),
        "answered nonsense",
    ),
    "another id": (sending(lambda message: framed(bytes([message[0] ^ 1]) + message[1:])), "answered something else"),
    "a byte at a time": (tiny, "no answer from"),
    "half": (half, "closed the connection without an answer"),
    "never": (never, "no answer from"),
}


class Between(Conversations):
    """Passes questions on to BIND, and BIND's messages through the `mode`."""

    def __init__(self, upstream: int) -> None:
        super().__init__()
        self._upstream = upstream
        self.mode: Mode | None = None

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, questions = await asyncio.open_connection(HOST, self._upstream)

        async def forth() -> None:
            while data := await reader.read(65536):
                questions.write(data)
            questions.close()

        passing = asyncio.ensure_future(forth())
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                while True:
                    (length,) = struct.unpack("!H", await answers.readexactly(2))
                    message = await answers.readexactly(length)
                    await (self.mode or sending(framed))(writer, message)
                    await writer.drain()
        finally:
            passing.cancel()
            await asyncio.gather(passing, return_exceptions=True)
            questions.close()
            writer.close()


@pytest.mark.parametrize(("mode", "words"), TROUBLES.values(), ids=list(TROUBLES))
def test_what_can_t_be_read_is_said_and_the_next_good_answer_is_enough(bind: Bind, mode: Mode, words: str) -> None:
    """Rules 22, 24 and 40."""

    async def story() -> None:
        world, between = cluster(), Between(bind.port)
        async with between.listening(HOST) as port:
            provider = Rfc2136Provider(Server(HOST, port, KEY, timeout=1.0), ZONES, querier=Agreeing())
            async with operating(world, provider, Rules(zones=ZONES, owner="me")):
                world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
                await until(lambda: world.ready("www"), lambda: world.says("www"), SOON)
                between.mode = mode
                world.apply("new", endpoint(f"new.{ZONE}", "A", "192.0.2.1"))
                await until(lambda: world.says("new")[1] == "Failed", lambda: world.says("new"), SOON)
                assert words in world.says("new")[2]
                assert f"{HOST}:{port}" in world.says("new")[2]
                assert bind.dig(f"www.{ZONE}", "A") == ["192.0.2.1"]
                between.mode = None
                await until(lambda: world.ready("www"), lambda: world.says("www"), SOON)
                await until(lambda: world.ready("new"), lambda: world.says("new"), SOON)

    asyncio.run(story())
