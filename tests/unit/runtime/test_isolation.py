"""An exception at any place that runs per object concerns that object alone: planted at each place, one at a time.

Beside the object that fails there is another one, which must become ready; the operator goes on, a metric counts the
failure, and the object itself reports it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from seamark.api.sample import Greeting
from seamark_runtime.access import AccessReviews, Right
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Change, Index
from seamark_runtime.client import Client
from seamark_runtime.controller import CollectionController, Companion, Controller, Declaration, Output, Reads, Wanted
from seamark_runtime.events import Notice
from seamark_runtime.failures import Failure
from seamark_runtime.follow import Follower
from seamark_runtime.memory import Remembered
from seamark_runtime.source import Collection, Fresh, Informer
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.decoding import decode_json
from tests.greetings import greeting_controller
from tests.unit.runtime.scripted import ScriptedTransport, ok
from tests.unit.runtime.small_world import SmallWorld
from tests.unit.runtime.test_loop import SlowBoard, world
from tests.virtual_time import CLOCK, elapsed, run

BAD = "bad"


class Planted(Exception):
    """No code of the product knows it."""


def fail_for(name: str) -> None:
    if name == BAD:
        raise Planted("planted")


def index(greeting: Greeting) -> tuple[str, ...]:
    fail_for(greeting.metadata.name)
    return (greeting.metadata.name,)


def observe(controller: Controller[Any]) -> Controller[Any]:
    def observed(view: Any, greeting: Greeting, results: Any) -> Any:
        fail_for(greeting.metadata.name)
        return controller.observe(view, greeting, results)

    return replace(controller, observe=observed)


def desire(controller: Controller[Any]) -> Controller[Any]:
    def desired(seen: Any) -> Wanted:
        fail_for(seen.greeting.metadata.name)
        return controller.desire(seen)

    return replace(controller, desire=desired)


def apply(controller: Controller[Any]) -> Controller[Any]:
    """What is wanted can't be written: a key that is no text."""

    def desired(seen: Any) -> Wanted:
        wanted = controller.desire(seen)
        if seen.greeting.metadata.name != BAD:
            return wanted
        children = {role: replace_data(child) for role, child in wanted.children.items()}
        return replace(wanted, children=children)

    return replace(controller, desire=desired)


def replace_data(child: Any) -> ConfigMap:
    odd: Any = {object(): "x"}
    return ConfigMap(metadata=child.metadata, data=odd)


def judge(controller: Controller[Any]) -> Controller[Any]:
    def judged(seen: Any, answers: Any) -> Any:
        fail_for(seen.greeting.metadata.name)
        return controller.judge(seen, answers)

    return replace(controller, judge=judged)


def announce(controller: Controller[Any]) -> Controller[Any]:
    def announced(seen: Any, _answers: Any) -> tuple[Notice, ...]:
        fail_for(seen.greeting.metadata.name)
        return ()

    return replace(controller, announce=announced)


def memory(controller: Controller[Any]) -> Controller[Any]:
    def transition(_before: object, _view: Any, subject: Greeting, _results: Any) -> None:
        fail_for(subject.metadata.name)

    return replace(controller, memory=Remembered(transition))


IN_A_RECONCILE: dict[str, Callable[[Controller[Any]], Controller[Any]]] = {
    one.__name__: one for one in (observe, desire, apply, judge, announce, memory)
}


def passed(controller: Controller[Any], stage: str) -> tuple[tuple[Declaration, ...], str]:
    """What runs, and the reason of the event that is expected on the object that fails."""
    if stage in IN_A_RECONCILE:
        return (IN_A_RECONCILE[stage](controller),), "ConfigMapRefused" if stage == "apply" else "InternalError"
    if stage == "index":
        failing = Reads(indexes=(Index(Greeting, index, "planted"),))
        return (replace(controller, reads=failing),), "Unreadable"
    if stage == "decode":
        return (controller,), "Unreadable"
    return (controller, collection(stage)), "Unreadable" if stage == "key" else "InternalError"


def collection(stage: str) -> CollectionController[str]:
    """Each greeting is a key of its own."""

    def keys(greeting: Greeting) -> tuple[Key, ...]:
        if stage == "key":
            fail_for(greeting.metadata.name)
        return (Key("", greeting.metadata.name),)

    def observed(_view: Any, key: Key, _results: Any) -> str:
        return key.name

    def report(seen: str, _answers: Any) -> dict[str, str]:
        if stage == "report":
            fail_for(seen)
        return {seen: seen}

    return CollectionController(
        name="planted",
        desire=lambda _seen: Wanted(),
        keyed={Greeting: keys},
        observe=observed,
        outputs=(Output(Collection[str, str]("planted"), report),),
    )


@contextmanager
def decoding(monkeypatch: pytest.MonkeyPatch, stage: str) -> Iterator[None]:
    def decode(data: bytes, kind: Any, limits: Any) -> Any:
        found = decode_json(data, kind, limits)
        if kind is Greeting:
            fail_for(found.metadata.name)
        return found

    with monkeypatch.context() as patch:
        if stage == "decode":
            patch.setattr("seamark_runtime.watch.decode_json", decode)
        yield


@pytest.mark.parametrize("first", [BAD, "good"])
@pytest.mark.parametrize("stage", [*IN_A_RECONCILE, "decode", "index", "key", "report"])
def test_an_exception_concerns_its_object_alone(stage: str, first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the object is there before the operator starts: no start fails for it."""
    declared, reason = passed(greeting_controller(SlowBoard()), stage)

    async def test(small: SmallWorld) -> None:
        await small.greet(first)
        async with small.operating(*declared) as operator:
            await asyncio.sleep(5)
            await small.greet("good" if first == BAD else BAD)
            await asyncio.sleep(120)
            assert await small.condition("good") == "True Ready"
            events = (await small.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
            assert {(one["regarding"]["name"], one["reason"]) for one in events} == {(BAD, reason)}
            samples = {
                sample.labels["stage"]: sample.value
                for family in operator.metrics.registry.collect()
                for sample in family.samples
                if sample.name == "seamark_object_failures_total"
            }
            assert any(samples.values()) or stage == "apply"  # that is a refusal, as any other
            await small.change("good", text="changed")
            await asyncio.sleep(1)
            changed = await small.greeting("good")
            assert changed["status"]["conditions"][0]["observedGeneration"] == changed["metadata"]["generation"]

    with decoding(monkeypatch, stage):
        world(test)


def test_a_sink_that_raises_for_an_object_delays_no_other() -> None:
    def sink(_informer: Informer[Greeting], change: Change[Greeting]) -> None:
        fail_for(change.key.name)

    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(SlowBoard())) as operator:
            operator.informers[Greeting].on_change(sink)
            await small.greet(BAD)
            await small.greet("good")
            await asyncio.sleep(5)
            assert await small.condition("good") == "True Ready"
            assert await small.condition(BAD) == "True Ready"

    world(test)


def test_a_call_that_raises_is_a_failure_of_its_object() -> None:
    class Board(SlowBoard):
        async def post(self, board: str, owner: str, text: str) -> None:
            fail_for(board)
            await super().post(board, owner, text)

    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller(Board())):
            await small.greet(BAD, board=BAD)
            await small.greet("good", board="wall")
            await asyncio.sleep(5)
            assert await small.condition("good") == "True Ready"
            assert await small.condition(BAD) == "False BoardFailed"

    world(test)


def planting(failures: int, answer: Callable[[HttpRequest], Answer]) -> Callable[[HttpRequest], Any]:
    """The first answers are exceptions that the client does not declare."""
    left = [failures]

    def reply(request: HttpRequest) -> Any:
        left[0] -= 1
        return Planted("planted") if left[0] >= 0 else answer(request)

    return reply


def test_an_object_that_is_followed_by_name_is_read_again_after_an_exception() -> None:
    key, failures = Key("ns", "certificate"), list[Failure]()
    found = ok({"metadata": {"name": "certificate", "namespace": "ns", "uid": "1"}})

    async def program() -> None:
        transport = ScriptedTransport(planting(3, lambda _request: found))
        follower = Follower(Client(transport, manager="test"), ConfigMap, Random(1), every=10)
        follower.on_failure = failures.append
        follower.get(key)
        await asyncio.sleep(60)
        assert isinstance(follower.get(key), Fresh)
        assert [failure.stage for failure in failures] == ["read"] * 3
        await follower.stop()

    run(program())


def test_a_right_is_asked_for_again_after_an_exception() -> None:
    right, failures = Right("shop", "create", "services"), list[Failure]()

    async def program() -> None:
        def allowed(request: HttpRequest) -> Answer:
            return ok({**json.loads(request.body), "status": {"allowed": True}})

        reviews = AccessReviews(Client(ScriptedTransport(planting(2, allowed)), manager="test"), CLOCK, Random(1))
        reviews.on_failure = failures.append
        reviews.get(right, elapsed())
        await asyncio.sleep(40)
        assert isinstance(reviews.get(right, elapsed()), Fresh)
        assert [failure.stage for failure in failures] == ["read"] * 2
        await reviews.stop()

    run(program())


def test_a_companion_that_raises_is_started_again_and_ends_no_other_task() -> None:
    began: list[float] = []

    async def companion() -> None:
        began.append(elapsed())
        if len(began) < 4:
            raise Planted("planted")
        await asyncio.Event().wait()

    async def test(small: SmallWorld) -> None:
        async with small.operating(replace(greeting_controller(SlowBoard()), companions=(Companion(companion),))):
            await small.greet("good")
            await asyncio.sleep(60)
            assert await small.condition("good") == "True Ready"
            assert len(began) == 4

    world(test)
