"""The loop with the sample family, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from seamark.families.sample.family import GREETING
from seamark.providers.board.memory import MemoryBoard
from seamark_runtime.errors import Refused
from seamark_runtime.heldwarnings import HOLD
from seamark_runtime.transport import Answer, HttpRequest
from tests.greetings import greeting_controller
from tests.unit.runtime.scripted import failed
from tests.unit.runtime.small_world import CONFIG_MAPS, GREETINGS, SmallWorld
from tests.unit.runtime.small_world import world as any_world
from tests.virtual_time import elapsed

DAY = 86_400.0


@dataclass
class SlowBoard(MemoryBoard):
    """Takes its time, refuses, or does not answer at all."""

    takes: float = 0.0
    refusal: str = ""
    calls: list[tuple[float, str]] = field(default_factory=list)
    posts: dict[tuple[str, str], str] = field(default_factory=dict)

    async def post(self, board: str, owner: str, text: str) -> None:
        self.calls.append((elapsed(), f"post {board}"))
        await asyncio.sleep(self.takes)
        if self.refusal:
            raise Refused(self.refusal)
        await super().post(board, owner, text)

    async def retract(self, board: str, owner: str) -> None:
        self.calls.append((elapsed(), f"retract {board}"))
        await asyncio.sleep(self.takes)
        await super().retract(board, owner)


def world(test: Callable[[SmallWorld], Awaitable[None]]) -> SmallWorld:
    return any_world(test, GREETING)


def test_an_object_costs_two_writes_and_then_rests_for_a_day() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(SlowBoard())):
            await small.greet("a")
            await asyncio.sleep(1)
            assert await small.condition("a") == "True Ready"
            assert small.writes() == ["POST configmaps", "PATCH greetings/a/status"]
            await asyncio.sleep(DAY)
            assert len(small.writes()) == 2

    world(test)


def test_a_board_that_confirms_every_so_often_costs_no_write_at_rest() -> None:
    board = SlowBoard(takes=0.1)

    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(board)):
            await small.greet("a", board="news")
            await asyncio.sleep(5)
            assert await small.condition("a") == "True Ready"
            before = elapsed()
            await asyncio.sleep(3600)
            assert small.writes(since=before) == []
            assert len(board.calls) > 3600 / 25

    world(test)


def test_a_finalizer_is_acknowledged_before_the_first_remote_effect() -> None:
    board = SlowBoard()

    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(board)):
            await small.greet("a", board="news")
            await asyncio.sleep(2)
            assert small.writes() == ["PATCH greetings/a", "POST configmaps", "PATCH greetings/a/status"]
            (marked, _, _) = small.wire.written[0]
            assert board.calls[0][0] > marked
            found = await small.greeting("a")
            assert found["metadata"]["finalizers"] == ["sample.seamark.dev/board"]

    world(test)


def test_children_and_marks_are_written_in_the_name_that_is_declared() -> None:
    board = SlowBoard()

    async def test(small: SmallWorld) -> None:
        async with small.operating(
            replace(greeting_controller(board), writes=replace(greeting_controller(board).writes, manager="greeter"))
        ):
            await small.greet("a", board="news")
            await asyncio.sleep(2)
            child = await small.ask("GET", "/api/v1/namespaces/default/configmaps/a")
            assert [entry["manager"] for entry in child["metadata"]["managedFields"]] == ["greeter"]
            found = await small.greeting("a")
            assert "greeter" in [entry["manager"] for entry in found["metadata"]["managedFields"]]

    world(test)


def test_while_the_finalizer_is_refused_nothing_happens_outside() -> None:
    board = SlowBoard()

    def refuse(request: HttpRequest) -> Answer | None:
        return failed(403, "Forbidden") if request.path == f"{GREETINGS}/a" and request.writes else None

    async def test(small: SmallWorld) -> None:
        small.wire.fault = refuse
        async with small.operating(greeting_controller(board)):
            await small.greet("a", board="news")
            await asyncio.sleep(60)
            assert board.calls == []
            small.wire.fault = lambda _request: None
            await asyncio.sleep(200)
            assert await small.condition("a") == "True Ready"

    world(test)


def test_an_answer_that_comes_soon_is_waited_for_and_told_in_one_write() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(SlowBoard(takes=0.5))):
            await small.greet("a", board="news")
            await asyncio.sleep(5)
            assert small.writes().count("PATCH greetings/a/status") == 1

    world(test)


def test_an_answer_that_takes_long_is_not_waited_for_by_anybody() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(SlowBoard(takes=8))):
            await small.greet("slow", board="news")
            await asyncio.sleep(0.5)
            await small.greet("quick")
            await asyncio.sleep(0.1)
            assert await small.condition("quick") == "True Ready"  # one bad object delays no other
            await asyncio.sleep(2)
            assert await small.condition("slow") == "Unknown Posting"
            assert await small.condition("slow", "Published") == "True Published"
            await asyncio.sleep(10)
            assert await small.condition("slow") == "True Ready"

    world(test)


def test_evidence_ages_true_becomes_unknown_by_a_timer() -> None:
    board = SlowBoard(takes=0.1)

    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(board, shelf_life=60, verify_every=1000)):
            await small.greet("a", board="news")
            await asyncio.sleep(50)
            assert await small.condition("a") == "True Ready"
            await asyncio.sleep(11)
            assert await small.condition("a", "Posted") == "Unknown NotVerified"
            assert await small.condition("a") == "Unknown NotVerified"

    world(test)


def test_a_refusal_outside_is_told_in_its_words_and_its_end_too() -> None:
    board = SlowBoard(refusal="the board is full")

    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(board)):
            await small.greet("a", board="news")
            await asyncio.sleep(3)
            assert await small.condition("a") == "False BoardFailed"
            (posted,) = [c for c in (await small.greeting("a"))["status"]["conditions"] if c["type"] == "Posted"]
            assert posted["message"] == "the board is full"
            await asyncio.sleep(HOLD)
            board.refusal = ""
            await asyncio.sleep(120)
            assert await small.condition("a") == "True Ready"
            events = (await small.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
            assert sorted(event["type"] for event in events) == ["Normal", "Warning"]

    world(test)


def test_a_changed_board_is_cleared_before_the_new_one_is_used() -> None:
    board = SlowBoard(takes=0.1)

    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(board)):
            await small.greet("a", board="old")
            await asyncio.sleep(5)
            await small.change("a", board="new")
            await asyncio.sleep(5)
            assert [call for _, call in board.calls] == ["post old", "retract old", "post new"]
            assert [name for name, _ in board.posts] == ["new"]

    world(test)


def test_a_deletion_waits_for_the_board_and_then_leaves_nothing() -> None:
    board = SlowBoard(takes=3)

    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(board)):
            await small.greet("a", board="news")
            await asyncio.sleep(10)
            await small.ask("DELETE", f"{GREETINGS}/a")
            await asyncio.sleep(2)
            assert (await small.greeting("a"))["metadata"]["deletionTimestamp"]
            await asyncio.sleep(5)
            assert (await small.greeting("a"))["code"] == 404
            assert (await small.ask("GET", f"{CONFIG_MAPS}/a"))["code"] == 404
            assert board.posts == {}

    world(test)


def test_a_restart_unsays_nothing_and_writes_nothing() -> None:
    board = SlowBoard(takes=0.1)

    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(board)):
            await small.greet("a", board="news")
            await small.greet("b")
            await asyncio.sleep(5)
        before = elapsed()
        board.takes = 30
        async with small.operating(greeting_controller(replace(board, takes=8))):
            await asyncio.sleep(50)
            assert small.writes(since=before) == []
            assert await small.condition("a") == "True Ready"

    world(test)


def test_what_nobody_verifies_after_a_restart_stands_for_one_shelf_life_only() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(SlowBoard())):
            await small.greet("a", board="news")
            await asyncio.sleep(5)

        class Dead(MemoryBoard):
            async def post(self, board: str, owner: str, text: str) -> None:
                await asyncio.sleep(1e9)

        sample = greeting_controller(Dead(), shelf_life=60)
        patient = replace(sample, desire=lambda seen: endless(sample.desire(seen)))
        async with small.operating(patient):
            await asyncio.sleep(59)
            assert await small.condition("a") == "True Ready"
            await asyncio.sleep(2)
            assert await small.condition("a") == "Unknown Posting"

    world(test)


def endless(wanted: Any) -> Any:
    return replace(wanted, calls=tuple(replace(call, timeout=1e6) for call in wanted.calls))
