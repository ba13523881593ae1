"""The REST client: what it tries again, what it must not, and how it keeps its pace."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from aiohttp import web

from seamark.providers.edge.calls import Kind, requests_of
from seamark.providers.edge.ratelimiter import RateLimiter
from seamark.providers.edge.rest import HttpClient, NotAdmitted, RestCalls, Sender
from seamark_edge.model import OWNER_HEADER, Owner
from seamark_runtime.errors import Exists, Gone, Refused, Retry, SeamarkError, Uncertain
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError
from seamark_runtime.untrusted.names import received_path
from tests.edge.services import free_port, give_back


class Script(Sender):
    """Answers with what it was given, in order, and records the requests."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[HttpRequest] = []

    async def send(self, request: HttpRequest) -> Answer:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        pass


class StoppedClock:
    """Moves only when the test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)


def told(status: int, body: Any = None, **headers: str) -> Answer:
    return Answer(status, msgspec.json.encode(body if body is not None else {}), headers)


def error(status: int, words: str, **headers: str) -> Answer:
    return told(status, {"error_code": "ERR_NGROK_1", "status_code": status, "msg": words}, **headers)


def run(script: Script, call: Callable[[RestCalls], Awaitable[Any]]) -> Any:
    async def inside() -> Any:
        return await call(RestCalls(script, RateLimiter(1_000_000)))

    return asyncio.run(inside())


def make(calls: RestCalls) -> Awaitable[Any]:
    return calls.create(Kind.ADDRESSES, {"description": "x"})


def look(calls: RestCalls) -> Awaitable[Any]:
    return calls.listed(Kind.ADDRESSES)


def test_all_pages_are_read() -> None:
    newer, older = {"id": "b", "addr": "edge:2"}, {"id": "a", "addr": "edge:1"}
    script = Script(
        told(200, {"reserved_addrs": [newer], "next_page_uri": "http://e/reserved_addrs?before_id=b&limit=1"}),
        told(200, {"reserved_addrs": [older], "next_page_uri": None}),
    )
    assert run(script, look) == [newer, older]
    assert script.asked[1].query == {"before_id": "b", "limit": "1"}


def test_a_read_without_an_answer_is_tried_again() -> None:
    script = Script(NoAnswerError("cut"), error(503, "busy"), told(200, {"reserved_addrs": []}))
    assert run(script, look) == []


def test_a_write_without_an_answer_is_not_sent_again() -> None:
    script = Script(NoAnswerError("cut"))
    with pytest.raises(Uncertain):
        run(script, make)
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [NoAnswerError("refused", sent=False), error(408, "did not arrive"), error(503, "busy")],
    ids=["refused", "408", "503"],
)
def test_a_write_that_surely_did_nothing_is_sent_again(answer: Answer | NoAnswerError) -> None:
    script = Script(answer, told(201, {"id": "new", "addr": "edge:1"}))
    assert run(script, make) == {"id": "new", "addr": "edge:1"}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error(400, "no"), Refused),
        (error(401, "who"), NotAdmitted),
        (Answer(403, b"a proxy"), NotAdmitted),
        (Answer(404, b"a proxy"), NotAdmitted),
        (error(409, "taken"), Exists),
        (error(500, "oops"), Uncertain),
        (told(503, {"error_code": "ERR_NGROK_504", "status_code": 503, "msg": "no answer in time"}), Uncertain),
        (Answer(200, b"<html>"), Uncertain),
        (Answer(200, b"[" * 100_000), Uncertain),
    ],
    ids=["400", "401", "403 of a proxy", "404 of a proxy", "409", "500", "unfinished", "html", "bomb"],
)
def test_an_answer_means_the_reaction_to_it(answer: Answer, kind: type[SeamarkError]) -> None:
    with pytest.raises(kind) as caught:
        run(Script(answer), make)
    assert type(caught.value) is kind


def test_deleting_what_is_gone_says_so() -> None:
    with pytest.raises(Gone):
        run(Script(error(404, "not here")), lambda calls: calls.delete(Kind.ADDRESSES, "ra_1"))


def test_a_caller_over_the_limit_waits_as_long_as_the_service_says() -> None:
    clock = StoppedClock()
    script = Script(error(429, "slow down", **{"Retry-After": "42"}))

    async def inside() -> None:
        calls = RestCalls(script, RateLimiter(60, clock, max_wait=5))
        with pytest.raises(Retry) as caught:
            await calls.listed(Kind.ADDRESSES)
        assert caught.value.after is not None
        assert 35 < caught.value.after <= 42
        assert len(script.asked) == 1

    asyncio.run(inside())


def test_a_burst_is_let_through_and_then_the_pace_is_kept() -> None:
    clock = StoppedClock()

    async def inside() -> None:
        limiter = RateLimiter(60, clock, max_wait=0)
        for _ in range(7):
            async with limiter.slot():
                pass
        with pytest.raises(Retry):
            async with limiter.slot():
                pass
        clock.now += 1
        async with limiter.slot():
            pass

    asyncio.run(inside())


def test_the_key_is_in_no_error() -> None:
    async def inside() -> None:
        client = HttpClient("http://127.0.0.1:1", "ak_very_secret")
        with pytest.raises(NoAnswerError) as caught:
            await client.send(HttpRequest("GET", received_path("/api_keys")))
        assert not caught.value.sent
        assert "secret" not in str(caught.value) + repr(client)
        await client.close()

    asyncio.run(inside())


def test_a_limit_of_one_namespace_holds_back_its_own_requests_only() -> None:
    clock = StoppedClock()
    limit = error(429, "slow down", **{"Retry-After": "42", OWNER_HEADER: "c/tenant-a"})
    made = told(201, {"id": "new", "addr": "edge:1"})

    async def inside() -> None:
        calls = RestCalls(Script(limit, made, made), RateLimiter(60, clock, max_wait=5))
        with requests_of(Owner("c", "tenant-a", "web", "uid")), pytest.raises(Retry):
            await make(calls)
        with requests_of(Owner("c", "tenant-b", "web", "uid")):
            assert await make(calls)
        assert await make(calls)

    asyncio.run(inside())


@pytest.mark.parametrize("names_owners", [True, False], ids=["our edge", "ngrok"])
def test_only_an_edge_that_shares_its_budgets_is_told_whose_a_request_is(names_owners: bool) -> None:
    seen: list[str | None] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        seen.append(request.headers.get(OWNER_HEADER))
        return web.json_response({"id": "new", "addr": "edge:1"}, status=201)

    async def inside() -> None:
        port = free_port()
        server = await asyncio.get_running_loop().create_server(web.Server(answer), "127.0.0.1", port)
        client = HttpClient(f"http://127.0.0.1:{port}", "key", names_owners=names_owners)
        calls = RestCalls(client, RateLimiter(1_000_000))
        with requests_of(Owner("c", "tenant-a", "web", "uid")):
            await make(calls)
        await make(calls)
        await calls.close()
        server.close()
        await server.wait_closed()
        give_back(port)

    asyncio.run(inside())
    assert seen == (["c/tenant-a", None] if names_owners else [None, None])
