"""The loop when things go wrong: sources that are late, bugs, failures, foreign objects, a stop."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from seamark.api.sample import Greeting
from seamark.families.sample.greeting.reconcile import judge
from seamark_runtime.api.core import ConfigMap, Secret
from seamark_runtime.api.meta import Key
from seamark_runtime.controller import CollectionController, Output, Reads, Wanted
from seamark_runtime.source import Collection
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError
from seamark_runtime.view import View
from tests.greetings import greeting_controller
from tests.unit.runtime.scripted import failed
from tests.unit.runtime.small_world import CONFIG_MAPS, GREETINGS, SmallWorld
from tests.unit.runtime.test_loop import SlowBoard, world
from tests.virtual_time import elapsed


def test_no_key_is_looked_at_before_every_source_has_synced() -> None:
    seen: list[float] = []
    sample = greeting_controller(SlowBoard())

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
            assert operator.loop.router.missing() == {"greetings": ["configmaps"]}
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
        async with small.operating(replace(greeting_controller(SlowBoard()), judge=judged)):
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
    def broken(request: HttpRequest) -> Answer | None:
        return failed(500, "InternalError", "etcd is on fire") if request.path == CONFIG_MAPS else None

    async def test(small: SmallWorld) -> None:
        small.wire.fault = broken
        async with small.operating(greeting_controller(SlowBoard())):
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
    lost: list[HttpRequest] = []

    def lose(request: HttpRequest) -> NoAnswerError | None:
        if request.path == CONFIG_MAPS and request.method == "POST" and not lost:
            lost.append(request)
            return NoAnswerError("cut")
        return None

    async def test(small: SmallWorld) -> None:
        small.wire.fault = lose
        async with small.operating(greeting_controller(SlowBoard())):
            await small.greet("a")
            await asyncio.sleep(2)
            assert await small.condition("a") == "True Ready"
            assert small.writes().count("POST configmaps") == 2

    world(test)


def test_somebody_who_changes_our_child_is_put_right() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(SlowBoard())):
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
        async with small.operating(greeting_controller(SlowBoard())) as operator:
            await asyncio.sleep(1)
            await small.greet("a")
            while not small.writes():
                await asyncio.sleep(0)
            assert not operator.queue.idle
        assert await small.condition("a") == "True Ready"

    world(test)


def test_two_runs_give_identical_bytes() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(SlowBoard(takes=0.2))):
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


def test_what_a_failed_pass_has_read_is_followed_no_longer_than_the_object_is_there() -> None:
    """45 Secrets are read by a pass that raises before it is done."""

    def observe(view: View, greeting: Greeting, _results: Any) -> Any:
        for number in range(45 if greeting.spec.text == "crash" else 1):
            view.single(Secret, Key("default", f"{greeting.spec.text}-{number}"))
        raise ValueError("no")

    async def test(small: SmallWorld) -> None:
        reader = replace(greeting_controller(SlowBoard()), observe=observe, reads=Reads(singles=(Secret,)))
        async with small.operating(reader) as operator:
            follower = operator.followers[Secret]
            await small.greet("bad", text="crash")
            await asyncio.sleep(1)
            assert len(follower) == 45
            await small.change("bad", text="other")
            await asyncio.sleep(1)
            assert len(follower) == 1
            await small.ask("DELETE", f"{GREETINGS}/bad")
            await asyncio.sleep(200)
            assert len(follower) == 0

    world(test)


def test_a_failed_pass_comes_again_when_what_it_has_read_changes() -> None:
    seen: list[float] = []

    def observe(view: View, _greeting: Greeting, _results: Any) -> Any:
        seen.append(elapsed())
        if view.get(ConfigMap, Key("default", "cause")) is None:
            raise ValueError("no")
        return None

    async def test(small: SmallWorld) -> None:
        async with small.operating(replace(greeting_controller(SlowBoard()), observe=observe)):
            await small.greet("a")
            await asyncio.sleep(600)  # it is retried every two minutes by now
            before = elapsed()
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cause"}}
            await small.ask("POST", CONFIG_MAPS, body)
            await asyncio.sleep(1)
            assert seen[-1] >= before

    world(test)


def test_what_a_group_has_read_for_a_key_that_is_no_more_is_followed_no_longer() -> None:
    def observe(view: View, key: Key, _results: Any) -> None:
        view.single(Secret, Key("default", key.name))

    group: CollectionController[None] = CollectionController(
        name="secrets",
        desire=lambda _seen: Wanted(),
        keyed={Greeting: lambda greeting: (greeting.key,)},
        observe=observe,
        outputs=(Output(Collection[str, str]("secrets"), lambda _seen, _answers: {}),),
        reads=Reads(singles=(Secret,)),
    )

    async def test(small: SmallWorld) -> None:
        async with small.operating(group) as operator:
            await small.greet("a")
            await asyncio.sleep(1)
            assert len(operator.followers[Secret]) == 1
            await small.ask("DELETE", f"{GREETINGS}/a")
            await asyncio.sleep(1)
            assert len(operator.followers[Secret]) == 0

    world(test)


def test_a_collection_that_fails_is_reported_on_the_objects_that_belong_to_it() -> None:
    def observe(_view: View, key: Key, _results: Any) -> None:
        assert key.name != "crash"

    group: CollectionController[None] = CollectionController(
        name="texts",
        desire=lambda _seen: Wanted(),
        keyed={Greeting: lambda greeting: (Key("", greeting.spec.text),)},
        observe=observe,
        outputs=(Output(Collection[str, str]("texts"), lambda _seen, _answers: {}),),
    )

    async def test(small: SmallWorld) -> None:
        async with small.operating(group):
            for name, text in (("a", "crash"), ("b", "crash"), ("c", "hello")):
                await small.greet(name, text=text)
            await asyncio.sleep(60)
            events = (await small.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
            told = {(one["regarding"]["name"], one["reason"]) for one in events}
            assert told == {("a", "InternalError"), ("b", "InternalError")}

    world(test)


def test_a_key_function_that_raises_concerns_its_object_alone() -> None:
    seen: list[str] = []

    def keys(greeting: Greeting) -> tuple[Key, ...]:
        return (Key("", str(int(greeting.spec.text))),)

    def observe(_view: View, key: Key, _results: Any) -> None:
        seen.append(key.name)

    group: CollectionController[None] = CollectionController(
        name="numbers",
        desire=lambda _seen: Wanted(),
        keyed={Greeting: keys},
        observe=observe,
        outputs=(Output(Collection[str, str]("numbers"), lambda _seen, _answers: {}),),
    )

    async def test(small: SmallWorld) -> None:
        await small.greet("early", text="no number")
        async with small.operating(group) as operator:
            await small.greet("late", text="no number")
            await small.greet("good", text="7")
            await asyncio.sleep(60)
            assert seen == ["7"]
            assert operator.quiet
            events = (await small.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
            assert sorted((one["regarding"]["name"], one["reason"]) for one in events) == [
                ("early", "Unreadable"),
                ("late", "Unreadable"),
            ]
            assert "invalid literal for int" in events[0]["note"]
            await small.change("late", text="8")
            await asyncio.sleep(1)
            assert seen == ["7", "8"]

    world(test)
