"""Evidence from the operator: asked in one request, and reported where it could not be had."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from seamark.explain import kinds
from seamark.explain.live import live
from seamark.explain.model import Hop
from seamark_cluster.real.ports import Ports
from seamark_runtime.api.meta import Key

BELOW = Hop(kinds.SERVICE, Key("default", "web"), "backend of rule 1")
HOP = Hop(
    kinds.HTTP_ROUTE, Key("default", "web"), hops=(BELOW, Hop(kinds.SERVICE, Key("default", "web"), repeated=True))
)
Handler = Callable[[web.Request], Awaitable[web.Response]]


def asked(handler: Handler, token: str = "secret") -> tuple[Hop, str]:
    async def story() -> tuple[Hop, str]:
        app = web.Application()
        app.router.add_post("/api/evidence", handler)
        runner = web.AppRunner(app)
        await runner.setup()
        with Ports("127.0.0.1") as ports:
            port = ports.reserve()
            await web.TCPSite(runner, "127.0.0.1", port).start()
            try:
                return await live(HOP, f"http://127.0.0.1:{port}/", token)
            finally:
                await runner.cleanup()

    return asyncio.run(story())


def test_each_object_once_gets_what_the_operator_knows_of_it() -> None:
    seen: list[object] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append((request.headers["Authorization"], await request.json()))
        return web.json_response([["data plane: answered 2 s ago"], []])

    hop, note = asked(answer)
    assert note == ""
    assert hop.evidence == ("data plane: answered 2 s ago",)
    assert [one.evidence for one in hop.hops] == [(), ()]
    route = {"kind": str(kinds.HTTP_ROUTE), "namespace": "default", "name": "web"}
    assert seen == [("Bearer secret", [route, {**route, "kind": str(kinds.SERVICE)}])]


async def refuses(_request: web.Request) -> web.Response:
    return web.Response(status=401)


async def babbles(_request: web.Request) -> web.Response:
    return web.Response(text="<html>")


@pytest.mark.parametrize(
    ("handler", "token", "words"),
    [
        (refuses, "wrong", "answered 401: this is what the cluster knows"),
        (babbles, "secret", "can't be asked"),
        (babbles, "", "no token to show"),
    ],
)
def test_where_it_can_not_be_had_the_explanation_stands_and_says_so(handler: Handler, token: str, words: str) -> None:
    hop, note = asked(handler, token)
    assert hop == HOP
    assert words in note


def test_nobody_is_asked_without_an_address_and_nobody_answers_where_nobody_is() -> None:
    assert asyncio.run(live(HOP, "", "secret")) == (
        HOP,
        "No operator was asked (--operator): this is what the cluster knows.",
    )
    with Ports("127.0.0.1") as ports:
        hop, note = asyncio.run(live(HOP, f"http://127.0.0.1:{ports.reserve()}", "secret"))
    assert hop == HOP
    assert "can't be asked" in note
