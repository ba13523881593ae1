"""The loop when things go wrong: sources that are late, bugs, failures, strangers, a stop."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from seamark.core.transport import Answer, NoAnswerError, Request
from seamark.families.sample.controller import controller
from seamark.families.sample.reconcile import judge
from tests.unit.core.scripted import failed
from tests.unit.core.small_world import CONFIG_MAPS, GREETINGS, SmallWorld
from tests.unit.core.test_loop import SlowBoard, world
from tests.virtual_time import elapsed


def test_no_key_is_looked_at_before_every_source_has_synced() -> None:
    seen: list[float] = []
    sample = controller(SlowBoard())

    def observe(view: Any, greeting: Any, results: Any) -> Any:
        seen.append(elapsed())
        return sample.observe(view, greeting, results)

    async def test(small: SmallWorld) -> None:
        await small.greet("a")
        small.wire.silent = {"configmaps"}
        async with small.operating(replace(sample, observe=observe)) as operator:
            await asyncio.sleep(30)
            assert seen == []
            assert operator.missing() == ["waiting for configmaps"]
            assert operator.loop.waker.missing() == {"greetings": ["configmaps"]}
            small.wire.silent = set()
            await asyncio.sleep(3)
            assert len(seen) >= 1
            assert await small.condition("a") == "True Ready"

    world(test)


def test_a_bug_on_one_object_is_confessed_there_and_delays_no_other() -> None:
    def judged(seen: Any, answers: Any) -> Any:
        assert seen.greeting.spec.text != "crash"
        return judge(seen, answers)

    async def test(small: SmallWorld) -> None:
        async with small.operating(replace(controller(SlowBoard()), judge=judged)):
            await small.greet("bad", text="crash")
            await small.greet("good")
            await asyncio.sleep(60)
            assert await small.condition("good") == "True Ready"
            assert await small.condition("bad") == "Unknown Pending"
            events = (await small.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
            assert [event["reason"] for event in events] == ["InternalError"]
            await small.change("bad", text="mended")
            await asyncio.sleep(1)
            assert await small.condition("bad") == "True Ready"

    world(test)


def test_a_passing_failure_is_told_only_when_it_lasts() -> None:
    def broken(request: Request) -> Answer | None:
        return failed(500, "InternalError", "etcd is on fire") if request.path == CONFIG_MAPS else None

    async def test(small: SmallWorld) -> None:
        small.wire.fault = broken
        async with small.operating(controller(SlowBoard())):
            await small.greet("a")
            await asyncio.sleep(0.05)
            assert await small.condition("a") == "Unknown Pending"
            await asyncio.sleep(5)
            assert await small.condition("a") == "False ConfigMapRefused"
            small.wire.fault = lambda _request: None
            await asyncio.sleep(130)
            assert await small.condition("a") == "True Ready"

    world(test)


def test_a_write_without_an_answer_is_looked_for_and_not_repeated_blindly() -> None:
    lost: list[Request] = []

    def lose(request: Request) -> NoAnswerError | None:
        if request.path == CONFIG_MAPS and request.method == "POST" and not lost:
            lost.append(request)
            return NoAnswerError("cut")
        return None

    async def test(small: SmallWorld) -> None:
        small.wire.fault = lose
        async with small.operating(controller(SlowBoard())):
            await small.greet("a")
            await asyncio.sleep(2)
            assert await small.condition("a") == "True Ready"
            assert small.writes().count("POST configmaps") == 2

    world(test)


def test_somebody_who_changes_our_child_is_put_right() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(controller(SlowBoard())):
            await small.greet("a")
            await asyncio.sleep(1)
            patch = {"data": {"text": "vandalised", "more": "x"}, "metadata": {"labels": {"theirs": "1"}}}
            await small.ask("PATCH", f"{CONFIG_MAPS}/a", patch, "application/merge-patch+json")
            await asyncio.sleep(1)
            found = await small.ask("GET", f"{CONFIG_MAPS}/a")
            assert found["data"] == {"text": "hello"}
            assert found["metadata"]["labels"] == {"theirs": "1"}
            await small.ask("DELETE", f"{CONFIG_MAPS}/a")
            await asyncio.sleep(1)
            assert (await small.ask("GET", f"{CONFIG_MAPS}/a"))["data"] == {"text": "hello"}

    world(test)


def test_a_stop_lets_the_work_under_way_end() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(controller(SlowBoard())) as operator:
            await asyncio.sleep(1)
            await small.greet("a")
            while not small.writes():
                await asyncio.sleep(0)
            assert not operator.queue.idle
        assert await small.condition("a") == "True Ready"

    world(test)


def test_two_runs_give_identical_bytes() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(controller(SlowBoard(takes=0.2))):
            for name in "abc":
                await small.greet(name, board="news")
            await asyncio.sleep(3)
            await small.change("b", text="other")
            await small.ask("DELETE", f"{GREETINGS}/c")
            await asyncio.sleep(10)

    first, second = world(test), world(test)
    assert first.wire.bodies == second.wire.bodies
    assert first.wire.written == second.wire.written
    assert len(first.wire.bodies) > 9
