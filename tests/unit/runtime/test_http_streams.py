"""Streams over real sockets: handed on as they come, and never without an end."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from aiohttp import web

from seamark_runtime.transport import NoAnswerError
from tests.unit.runtime.test_http import GET, to, transport
from tests.unit.runtime.tls_server import serving


async def trickle(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for piece in (b"one\n", b"tw", b"o\n"):
        await response.write(piece)
        await asyncio.sleep(0.005)
    return response


def test_a_stream_is_handed_on_as_it_comes_and_ends_with_the_body() -> None:
    async def program() -> None:
        async with serving(None, trickle) as seen, transport(to(seen)) as made, made.stream(GET) as stream:
            assert stream.status == 200
            assert b"".join([chunk async for chunk in stream.chunks()]) == b"one\ntwo\n"

    asyncio.run(program())


def test_a_stream_that_is_cut_says_so() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"half a li")
        assert request.transport is not None
        request.transport.abort()
        return response

    async def program() -> None:
        async with serving(None, cut) as seen, transport(to(seen)) as made, made.stream(GET) as stream:
            with pytest.raises(NoAnswerError, match="the stream was cut"):
                async for _ in stream.chunks():
                    pass

    asyncio.run(program())


def test_a_stream_that_does_not_open_in_time_says_so() -> None:
    async def never(_request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async def program() -> None:
        async with serving(None, never) as seen, transport(to(seen)) as made:
            with pytest.raises(NoAnswerError, match="no answer in time"):
                async with made.stream(replace(GET, timeout=0.05)):
                    pass

    asyncio.run(program())


def test_a_refused_stream_whose_reasons_never_end_says_so() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=403)
        await response.prepare(request)
        await response.write(b"{")
        await asyncio.Event().wait()
        raise AssertionError

    async def program() -> None:
        request = replace(GET, timeout=0.05)
        async with serving(None, endless) as seen, transport(to(seen)) as made, made.stream(request) as stream:
            assert stream.status == 403
            with pytest.raises(NoAnswerError, match="no whole answer"):
                await stream.read()

    asyncio.run(program())


def test_a_refused_stream_renews_the_credentials_for_the_next_one() -> None:
    async def strict(request: web.Request) -> web.StreamResponse:
        return web.Response(status=200 if request.headers["Authorization"] == "Bearer new" else 401, text="x")

    async def program() -> None:
        async with serving(None, strict) as seen:
            old, new = to(seen, token="old"), to(seen, token="new")
            async with transport(old, new) as made:
                async with made.stream(GET) as stream:
                    assert (stream.status, await stream.read()) == (401, b"x")
                async with made.stream(GET) as stream:
                    assert stream.status == 200

    asyncio.run(program())
