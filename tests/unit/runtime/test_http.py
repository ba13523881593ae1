"""The transport, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web

from seamark_cluster.real.pki import Pki
from seamark_runtime.connection import Connection
from seamark_runtime.errors import UserError
from seamark_runtime.http import HttpTransport
from seamark_runtime.transport import HttpRequest, NoAnswerError
from seamark_runtime.untrusted.names import received_path
from tests.unit.runtime.tls_server import Seen, serving

GET = HttpRequest("GET", received_path("/version"))


class Steps:
    """A clock that is put forward by hand."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    wall = None


def to(seen: Seen, pki: Pki | None = None, **more: str) -> Connection:
    return Connection(base_url=seen.url, ca_pem=pki.ca_cert.read_text() if pki else "", **more)  # type: ignore[arg-type]


@asynccontextmanager
async def transport(*connections: Connection, limit: int = 64) -> AsyncIterator[HttpTransport]:
    """Over these connections: the first at the start, the next one after each renewal."""
    left = list(connections)

    async def load() -> Connection:
        return left.pop(0) if len(left) > 1 else left[0]

    made = await HttpTransport(load, limit=limit).open()
    try:
        yield made
    finally:
        await made.close()


def test_a_token_and_the_kind_of_the_body_are_told() -> None:
    async def program() -> None:
        async with serving(None) as seen, transport(to(seen, token="t1")) as made:
            request = HttpRequest("PATCH", received_path("/x"), {"a": "b c"}, b"{}", "application/merge-patch+json")
            answer = await made.send(request)
            assert (answer.status, answer.body) == (200, b'{"ok": true}')
            (arrived,) = seen.requests
            assert arrived.headers["Authorization"] == "Bearer t1"
            assert arrived.headers["Content-Type"] == "application/merge-patch+json"
            assert arrived.headers["User-Agent"] == "seamark"
            assert arrived.query == {"a": "b c"}

    asyncio.run(program())


def test_an_error_of_the_server_is_an_answer() -> None:
    async def busy(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": "3"}, text="busy")

    async def program() -> None:
        async with serving(None, busy) as seen, transport(to(seen)) as made:
            answer = await made.send(GET)
            assert (answer.status, answer.headers["retry-after"]) == (429, "3")

    asyncio.run(program())


def test_connections_are_kept_and_their_number_is_bounded() -> None:
    busy = most = 0

    async def slow(_request: web.Request) -> web.StreamResponse:
        nonlocal busy, most
        busy, most = busy + 1, max(most, busy + 1)
        await asyncio.sleep(0.01)
        busy -= 1
        return web.Response()

    async def program() -> None:
        async with serving(None, slow) as seen, transport(to(seen), limit=3) as made:
            await asyncio.gather(*(made.send(GET) for _ in range(20)))
            assert most == 3
            assert len(seen.peers) <= 3

    asyncio.run(program())


def test_a_server_that_nobody_is_at_was_surely_not_reached() -> None:
    async def program() -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        async with transport(Connection(f"http://127.0.0.1:{port}")) as made:
            with pytest.raises(NoAnswerError, match=f"can't connect to 127.0.0.1:{port}") as caught:
                await made.send(GET)
            assert not caught.value.sent

    asyncio.run(program())


def test_a_request_without_an_answer_in_time_may_have_arrived() -> None:
    async def never(_request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async def program() -> None:
        async with serving(None, never) as seen, transport(to(seen)) as made:
            messages = set()
            for left in (0.05, 0.07):  # of a lease: it differs from one try to the next, and a message must not
                with pytest.raises(NoAnswerError) as caught:
                    await made.send(replace(GET, timeout=left))
                assert caught.value.sent
                messages.add(str(caught.value))
            assert messages == {"no answer in time"}

    asyncio.run(program())


def test_a_request_that_waited_for_its_turn_until_its_deadline_is_not_sent() -> None:
    async def never(_request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async def program() -> None:
        async with serving(None, never) as seen, transport(to(seen), limit=1) as made:
            first = asyncio.create_task(made.send(replace(GET, timeout=30)))
            while not seen.requests:
                await asyncio.sleep(0.001)
            with pytest.raises(NoAnswerError, match="no turn") as caught:
                await made.send(HttpRequest("POST", received_path("/late"), timeout=0.05))
            assert not caught.value.sent
            first.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await first
            assert [request.path for request in seen.requests] == ["/version"]

    asyncio.run(program())


def test_an_urgent_request_waits_for_no_other() -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        if request.path != "/lease":
            await asyncio.Event().wait()
        return web.Response()

    async def program() -> None:
        async with serving(None, slow) as seen, transport(to(seen), limit=1) as made:
            first = asyncio.create_task(made.send(replace(GET, timeout=30)))
            while not seen.requests:
                await asyncio.sleep(0.001)
            assert (
                await made.send(HttpRequest("PATCH", received_path("/lease"), timeout=5, urgent=True))
            ).status == 200
            first.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await first

    asyncio.run(program())


def test_what_is_left_of_the_deadline_after_waiting_is_what_a_request_gets() -> None:
    async def slow(_request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.2)
        return web.Response()

    async def program() -> None:
        async with serving(None, slow) as seen, transport(to(seen), limit=1) as made:
            began = asyncio.get_running_loop().time()
            first = asyncio.create_task(made.send(GET))
            while not seen.requests:
                await asyncio.sleep(0.001)
            with pytest.raises(NoAnswerError):
                await made.send(HttpRequest("POST", received_path("/late"), timeout=0.3))
            assert asyncio.get_running_loop().time() - began < 0.39
            await first

    asyncio.run(program())


def test_an_expired_token_is_renewed_once_and_the_request_sent_again() -> None:
    async def strict(request: web.Request) -> web.StreamResponse:
        return web.Response(status=200 if request.headers["Authorization"] == "Bearer new" else 401)

    async def program() -> None:
        async with serving(None, strict) as seen:
            old, new = to(seen, token="old"), to(seen, token="new")
            async with transport(old, new) as made:
                answers = await asyncio.gather(*(made.send(GET) for _ in range(5)))
                assert [answer.status for answer in answers] == [200] * 5
                assert seen.tokens.count("Bearer new") == 5
            async with transport(old) as made:
                seen.requests.clear()
                assert (await made.send(GET)).status == 401
                assert seen.tokens == ["Bearer old", "Bearer old"]

    asyncio.run(program())


def test_a_token_is_read_again_every_minute() -> None:
    clock = Steps()

    async def program() -> None:
        async with serving(None) as seen:
            tokens = iter(["one", "two", "three"])

            async def load() -> Connection:
                return to(seen, token=next(tokens))

            made = await HttpTransport(load, clock=clock).open()  # type: ignore[arg-type]
            await made.send(GET)
            clock.now = 59
            await made.send(GET)
            clock.now = 61
            await made.send(GET)
            await made.close()
            assert seen.tokens == ["Bearer one", "Bearer one", "Bearer two"]
            assert len(seen.peers) == 1  # the connection was kept

    asyncio.run(program())


@pytest.mark.parametrize("trouble", [UserError("exec plugin failed"), FileNotFoundError("token")])
def test_credentials_that_cant_be_read_again_are_used_on(trouble: Exception) -> None:
    clock = Steps()

    async def program() -> None:
        async with serving(None) as seen:
            loads: list[Connection | Exception] = [to(seen, token="one"), trouble, to(seen, token="two")]

            async def load() -> Connection:
                loaded = loads.pop(0)
                if isinstance(loaded, Exception):
                    raise loaded
                return loaded

            made = await HttpTransport(load, clock=clock).open()  # type: ignore[arg-type]
            for moment in (0, 61, 62, 122):
                clock.now = moment
                assert (await made.send(GET)).status == 200
            await made.close()
            assert seen.tokens == ["Bearer one", "Bearer one", "Bearer one", "Bearer two"]

    asyncio.run(program())


def test_a_mistake_in_the_credentials_is_told_at_the_start() -> None:
    async def load() -> Connection:
        raise UserError("no kubeconfig")

    with pytest.raises(UserError):
        asyncio.run(HttpTransport(load).open())


def test_a_closed_transport_sends_nothing() -> None:
    async def program() -> None:
        async with serving(None) as seen:
            async with transport(to(seen)) as made:
                pass
            with pytest.raises(NoAnswerError, match="closed"):
                await made.send(GET)
            assert seen.requests == []

    asyncio.run(program())
