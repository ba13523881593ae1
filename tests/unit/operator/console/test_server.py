"""The console over HTTP, for people with and without rights."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import aiohttp
import msgspec
import pytest

from seamark.console import server
from seamark.console.access import CACHE_SECONDS, Access
from seamark.console.budget import Budget
from seamark.console.evidence import PATH, LocalEvidence
from seamark.console.graph import identity
from seamark.console.rows import Board
from seamark.console.server import Console
from seamark.explain import kinds
from seamark.explain.leadership import Leadership, OperatorLease
from seamark.explain.model import Hop
from seamark_cluster.real.ports import Ports
from seamark_runtime.api.meta import Key
from seamark_runtime.source import Collection
from seamark_runtime.transport import Transport
from tests.unit.operator.console.reviews import Reviews

MINE, THEIRS = Key("tenant-a", "mine"), Key("tenant-b", "canary")
RIGHTS = {"ann": {("get", "services", "tenant-a")}}


@dataclass
class World:
    """A console on a board, an API server that answers reviews, and a clock for what is remembered."""

    url: str
    reviews: Reviews
    reports: Collection[Key, Hop] = field(default_factory=lambda: Collection("console"))
    time: float = 1000.0
    board: Board = field(init=False)

    def show(self, key: Key) -> None:
        at = identity(kinds.SERVICE, key)
        self.reports.publish(at, {at: Hop(kinds.SERVICE, key)})

    def hide(self, key: Key) -> None:
        self.reports.publish(identity(kinds.SERVICE, key), {})


@asynccontextmanager
async def console() -> AsyncIterator[tuple[World, aiohttp.ClientSession]]:
    async def nobody(_token: str) -> Transport:
        raise AssertionError("no object is read here")

    with Ports("127.0.0.1") as ports:
        address = f"127.0.0.1:{ports.reserve()}"
        world = World(f"http://{address}", Reviews({"good": "ann"}, RIGHTS))
        access = Access(world.reviews, lambda: world.time, Budget(lambda: world.time))
        witness = LocalEvidence(access, lambda _, key: [f"answered for {key.name}"])
        world.board = Board(world.reports, lambda: 0.0)
        page = Console(world.board, access, nobody, lambda: True, witness)
        await page.start(address)
        try:
            async with aiohttp.ClientSession() as session:
                yield world, session
        finally:
            await page.close()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def event(stream: aiohttp.StreamReader) -> Any:
    """The next event's data; None for the end."""
    while line := await stream.readline():
        if line.startswith(b"data: "):
            return msgspec.json.decode(line.removeprefix(b"data: "))
    return None


def test_the_names_of_deleted_objects_are_told_to_those_who_may_read_them_alone() -> None:
    async def story() -> None:
        async with console() as (world, session):
            world.show(MINE)
            world.show(THEIRS)
            async with session.get(f"{world.url}/api/stream", headers=bearer("good")) as answer:
                first = await event(answer.content)
                assert [row["name"] for row in first["rows"]] == ["mine"]
                world.hide(THEIRS)
                world.hide(MINE)
                second = await event(answer.content)
                assert second["gone"] == [str(identity(kinds.SERVICE, MINE))]
                assert "canary" not in str(second)

    asyncio.run(story())


def test_a_stream_ends_with_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "KEEPALIVE", 0.01)

    async def story() -> None:
        async with (
            asyncio.timeout(20),
            console() as (world, session),
            session.get(f"{world.url}/api/stream", headers=bearer("good")) as answer,
        ):
            assert await event(answer.content) is not None
            world.time += CACHE_SECONDS + 1
            world.show(MINE)
            assert [row["name"] for row in (await event(answer.content))["rows"]] == ["mine"]
            del world.reviews.tokens["good"]
            world.time += CACHE_SECONDS + 1
            assert await event(answer.content) is None

    asyncio.run(story())


def test_a_stream_ends_when_the_api_server_can_t_say_whose_the_token_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "KEEPALIVE", 0.01)

    async def story() -> None:
        async with console() as (world, session):
            async with asyncio.timeout(20), session.get(f"{world.url}/api/stream", headers=bearer("good")) as answer:
                assert await event(answer.content) is not None
                world.reviews.trouble = [503]
                world.time += CACHE_SECONDS + 1
                assert await event(answer.content) is None
            async with session.get(f"{world.url}/api/stream", headers=bearer("good")) as answer:
                assert answer.status == 200

    asyncio.run(story())


def test_whoever_can_t_be_known_is_told_why() -> None:
    async def story() -> list[tuple[int, str]]:
        async with console() as (world, session):
            answers = []
            world.reviews.trouble = [503]
            for token in ("good", *(f"bad-{number}" for number in range(12))):
                async with session.post(world.url + PATH, data=b"[]", headers=bearer(token)) as answer:
                    answers.append((answer.status, answer.headers.get("Retry-After", "")))
            async with session.post(world.url + PATH, data=b"[]") as answer:
                answers.append((answer.status, ""))
            assert len(world.reviews.asked) == 10
            return answers

    answers = asyncio.run(story())
    assert answers[0] == (503, "5")
    assert answers[1:10] == [(401, "")] * 9
    assert answers[10:13] == [(429, "6")] * 3
    assert answers[13] == (401, "")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[" * 100_000, b'[{"kind": 5}]', b'[{"kind": "\xff", "name": "a"}]', b'[{"kind": "x", "name": ""}]'],
)
def test_a_question_that_can_t_be_read_is_a_400(body: bytes) -> None:
    async def story() -> int:
        async with (
            console() as (world, session),
            session.post(world.url + PATH, data=body, headers=bearer("good")) as answer,
        ):
            return answer.status

    assert asyncio.run(story()) == 400


def test_evidence_is_for_those_who_may_read_the_object() -> None:
    async def story() -> Any:
        body = msgspec.json.encode([{"kind": "Service", **key._asdict()} for key in (MINE, THEIRS)])
        async with (
            console() as (world, session),
            session.post(world.url + PATH, data=body, headers=bearer("good")) as answer,
        ):
            return msgspec.json.decode(await answer.read())

    assert asyncio.run(story()) == [["answered for mine"], []]


def test_the_page_writes_text_and_never_markup() -> None:
    """What objects say becomes text nodes and attributes; links lead to places of the page itself."""
    script = files("seamark.console").joinpath("page", "app.js").read_text()
    for unsafe in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"):
        assert unsafe not in script
    assert [line.strip() for line in script.splitlines() if "href = " in line or "href:" in line] == [
        "const href = `#/${row.kind}/${row.namespace}/${row.name}`;"
    ]


def test_a_stopped_operator_is_reported_to_whoever_looks_without_the_name_of_its_lease() -> None:
    async def story() -> None:
        async with console() as (world, session):
            world.show(MINE)
            async with session.get(f"{world.url}/api/stream", headers=bearer("good")) as answer:
                assert (await event(answer.content))["stopped"] == []
                lease = OperatorLease(Key("ours", "seamark"), ("dns",), "2026-01-01T00:01:00Z")
                world.board.leaders.update(Leadership((lease,)))
                changed = await event(answer.content)
                assert changed["stopped"] == [{"families": ["dns"], "asOf": "2026-01-01T00:01:00Z"}]
                assert changed["rows"] == []

    asyncio.run(story())
