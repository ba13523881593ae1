"""HTTP servers of ours bound heads and bodies while they arrive (docs/guides/edge.md, "Limits")."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import pytest
from aiohttp import web

from seamark_runtime.guardedhttp import SHARE, GuardedHandler, GuardedServer
from seamark_runtime.pacing import InputAccount
from seamark_runtime.requestlog import RequestLog

ENDLESS = b"a" * 65536
POST = b"POST /%b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;"


async def swallow(request: web.Request) -> web.Response:
    return web.Response(text=str(len(await request.read())))


async def poured(head: bytes, blob: bytes, most: int) -> tuple[int, bytes]:
    """What the server lets a client send, of `most` blobs, and what it answers."""
    app = web.Application()
    app.router.add_post("/swallow", swallow)
    server = GuardedServer(app, most_body=1_000_000, shutdown_timeout=0.1)
    port = await server.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = asyncio.create_task(reader.read())
    sent = 0
    writer.write(head)
    with suppress(OSError):
        while sent < most and not answer.done():
            writer.write(blob)
            await writer.drain()
            sent += 1
    with suppress(OSError):
        await asyncio.wait([answer], timeout=10)
    writer.transport.abort()
    await server.close()
    return sent, answer.result() if answer.done() and answer.exception() is None else b""


@pytest.mark.parametrize(
    ("head", "blob", "status"),
    [
        (b"GET / HTTP/1.1\r\nX: ", ENDLESS, b"400"),
        (b"GET / HTTP/1.1\r\n", b"X: " + b"a" * 8000 + b"\r\n", b"431"),
        (POST % b"nowhere", ENDLESS, b"404"),
        (POST % b"swallow", ENDLESS, b""),
    ],
    ids=["one field", "many fields", "chunk extension after an error", "chunk extension"],
)
def test_what_has_no_end_is_not_read_for_long(head: bytes, blob: bytes, status: bytes) -> None:
    sent, answer = asyncio.run(poured(head, blob, 20_000))
    assert sent < 2_000
    assert answer[9:12] in (status, b"")  # a client that goes on sending may see a reset in place of the answer


def test_requests_within_the_limits_are_answered() -> None:
    head = b"POST /swallow HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: %b\r\nContent-Length: 500000\r\n\r\n" % (
        b"a" * 8000
    )
    _, answer = asyncio.run(poured(head, b"b" * 500_000, 1))
    assert (answer[9:12], answer[-6:]) == (b"200", b"500000")


def test_a_connection_that_ends_while_its_request_waits_to_be_answered_is_no_error() -> None:
    """A limit of connections closes them at any moment, also between the reading of a request and its handling."""
    problems: list[object] = []

    async def case() -> bool:
        app = web.Application()
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        assert runner.server is not None
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: problems.append(context))
        handler = GuardedHandler(
            runner.server, InputAccount(SHARE), logger=RequestLog(problems.append), access_log=None
        )
        here, there = socket.socketpair()
        with there:
            transport, _ = await loop.connect_accepted_socket(lambda: handler, here)
            await asyncio.sleep(0)
            task = handler._task_handler
            assert task is not None
            handler.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            handler.connection_lost(None)
            transport.abort()
            await asyncio.wait([task], timeout=5)
            await runner.cleanup()
            return task.cancelled()

    assert asyncio.run(case())
    assert problems == []


def test_no_answer_tells_which_library_made_it() -> None:
    for head in (b"GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", b"no HTTP\r\n\r\n"):
        _, answer = asyncio.run(poured(head, b"", 0))
        assert b"\r\nServer: seamark\r\n" in answer
        assert b"aiohttp" not in answer
