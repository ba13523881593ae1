"""A request that reaches the limit of its time gets an answer that names the limit, and is no internal error."""

from __future__ import annotations

import asyncio
import socket

from aiohttp import web
from prometheus_client import CollectorRegistry

from seamark_edge.edge.failures import Failures
from seamark_edge.edge.http import HttpServer, Next
from seamark_edge.edge.limits import ConnectionLimit, Slot
from seamark_edge.edge.metrics import EdgeMetrics
from seamark_edge.edge.settings import EdgeSettings

LIMIT = 0.05
SETTINGS = EdgeSettings(request_seconds=LIMIT, head_seconds=LIMIT)
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"


async def hangs(_: web.Request) -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError


async def reads(request: web.Request) -> web.Response:
    return web.Response(body=await request.read())


async def answers_much(_: web.Request) -> web.Response:
    return web.Response(body=bytes(64 << 20))


async def has_a_timeout_of_its_own(_: web.Request) -> web.Response:
    raise TimeoutError


class Ending(Slot):
    """Tells when its connection ends."""

    def __init__(self, ended: asyncio.Event) -> None:
        super().__init__(ConnectionLimit(1, 1, 1), "127.0.0.1", 0)
        self._ended = ended

    def release(self) -> None:
        self._ended.set()


def answered(handler: Next, sent: bytes, *, read: bool = True) -> tuple[bytes, float]:
    """What the client receives until its connection ends, and how many internal errors were counted."""

    async def case() -> tuple[bytes, float]:
        metrics, app = EdgeMetrics(CollectorRegistry()), web.Application()
        app.router.add_route("*", "/", handler)
        server = HttpServer(app, SETTINGS, None, Failures(metrics))
        await server.setup()
        ended, loop, received = asyncio.Event(), asyncio.get_running_loop(), b""

        def accepted() -> asyncio.Protocol:
            return server.protocol(Ending(ended))

        async with await loop.create_server(accepted, "127.0.0.1", 0) as listening:
            with socket.create_connection(listening.sockets[0].getsockname(), 10) as client:
                client.setblocking(False)
                await loop.sock_sendall(client, sent)
                while read and (data := await loop.sock_recv(client, 65536)):
                    received += data
                await asyncio.wait_for(ended.wait(), 10)
        await server.close()
        samples = [sample for metric in metrics.failures.collect() for sample in metric.samples]
        return received, sum(sample.value for sample in samples if sample.name.endswith("_total"))

    return asyncio.run(case())


def test_a_head_that_does_not_arrive_ends_the_connection() -> None:
    assert answered(hangs, GET[:-2], read=False) == (b"", 0)


def test_work_that_takes_too_long_is_answered_with_503() -> None:
    response, errors = answered(hangs, GET)
    assert response.startswith(b"HTTP/1.1 503 ")
    assert b"not answered within 0.05 s (request_seconds)" in response
    assert errors == 0


def test_a_body_that_does_not_arrive_is_answered_with_408() -> None:
    response, errors = answered(reads, POST)
    assert response.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 0.05 s (request_seconds)" in response
    assert errors == 0


def test_an_answer_that_its_client_does_not_read_ends_the_connection() -> None:
    assert answered(answers_much, GET, read=False) == (b"", 0)


def test_a_timeout_of_our_own_work_is_an_internal_error() -> None:
    response, errors = answered(has_a_timeout_of_its_own, GET)
    assert response.startswith(b"HTTP/1.1 50")
    assert errors == 1
