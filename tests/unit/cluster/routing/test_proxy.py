"""One connection through the proxy, on loopback."""

from __future__ import annotations

import asyncio
import hashlib
import random
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from seamark_cluster.routing.router import Listener
from seamark_cluster.routing.table import Address, Route

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


def free() -> Address:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return Address("127.0.0.1", listener.getsockname()[1])


async def behind(handler: Handler, *others: Address) -> tuple[asyncio.Server, Listener]:
    """A server, and a proxy listener in front of it (and of other backends that are tried first)."""
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    backend = Address(*server.sockets[0].getsockname())
    listener = Listener(free(), Route((*others, backend)), asyncio.get_running_loop().time)
    await listener.open()
    return server, listener


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Responds when the client has sent everything: only a half-close makes that possible."""
    data = await reader.read()
    writer.write(data[::-1])
    await writer.drain()
    writer.close()


def test_an_end_of_one_direction_leaves_the_other_open() -> None:
    async def program() -> bytes:
        server, listener = await behind(echo)
        reader, writer = await asyncio.open_connection(*listener.address)
        writer.write(b"hello")
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        listener.close(hard=True)
        server.close()
        return answer

    assert uvloop.run(program()) == b"olleh"


def test_a_backend_that_refuses_is_followed_by_the_next() -> None:
    async def program() -> list[bytes]:
        server, listener = await behind(echo, free(), free())
        answers = []
        for _ in range(3):
            reader, writer = await asyncio.open_connection(*listener.address)
            writer.write(b"x")
            writer.write_eof()
            answers.append(await reader.read())
            writer.close()
        listener.close(hard=True)
        server.close()
        return answers

    assert uvloop.run(program()) == [b"x"] * 3


def test_a_connection_that_no_backend_takes_is_ended() -> None:
    async def program() -> bytes:
        listener = Listener(free(), Route((free(),)), asyncio.get_running_loop().time)
        await listener.open()
        reader, writer = await asyncio.open_connection(*listener.address)
        try:
            return await asyncio.wait_for(reader.read(), 5)
        finally:
            writer.close()
            listener.close(hard=True)

    try:
        assert uvloop.run(program()) == b""
    except ConnectionResetError:
        return


def test_a_slow_reader_holds_a_fast_writer_back() -> None:
    sent = 0

    async def pour(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        piece = b"x" * 65536
        for _ in range(2048):  # 128 MB, without backpressure
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
        writer.close()

    async def program() -> tuple[int, int]:
        server, listener = await behind(pour)
        reader, writer = await asyncio.open_connection(*listener.address, limit=65536)
        before = -1
        while before != sent or not sent:  # until the proxy accepts no further bytes
            before = sent
            await asyncio.sleep(0.2)
        held, received = sent, 0
        while piece := await reader.read(1 << 20):
            received += len(piece)
        writer.close()
        listener.close(hard=True)
        server.close()
        return held, received

    held, received = uvloop.run(program())
    assert held < 64 << 20
    assert received == 128 << 20


def test_every_byte_arrives_in_order_in_both_directions_at_once() -> None:
    sent = random.Random(7).randbytes(24 << 20)

    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(100_000):
            writer.write(piece)
            await writer.drain()
        writer.close()

    async def program() -> bytes:
        server, listener = await behind(repeat)
        reader, writer = await asyncio.open_connection(*listener.address)

        async def send() -> None:
            for start in range(0, len(sent), 333_333):
                writer.write(sent[start : start + 333_333])
                await writer.drain()
            writer.write_eof()

        sending = asyncio.create_task(send())
        received = await reader.read()
        await sending
        writer.close()
        listener.close(hard=True)
        server.close()
        return received

    assert hashlib.sha256(uvloop.run(program())).digest() == hashlib.sha256(sent).digest()


def test_a_closed_listener_refuses_while_open_connections_go_on() -> None:
    async def program() -> bytes:
        server, listener = await behind(echo)
        reader, writer = await asyncio.open_connection(*listener.address)
        writer.write(b"ab")
        await asyncio.sleep(0.05)
        listener.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*listener.address)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        listener.close(hard=True)
        server.close()
        return answer

    assert uvloop.run(program()) == b"ba"
