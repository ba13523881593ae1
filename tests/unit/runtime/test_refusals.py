"""Whatever the API server refuses, the user sees it: an event with its message, and a status of this generation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from seamark.api.sample import Greeting, GreetingStatus
from seamark.families.sample.family import GREETING
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Object, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.conditions import ConditionType
from seamark_runtime.controller import Controller, Wanted, Writes
from seamark_runtime.status import ByManager
from seamark_runtime.transport import Answer, HttpRequest
from tests.unit.runtime.scripted import failed
from tests.unit.runtime.small_world import CONFIG_MAPS, GREETINGS, SmallWorld, world

PUBLISHED = ConditionType("Published", "the ConfigMap has the text", {"Published": "it has", "Refused": "it has not"})
FINALIZER = "test.seamark.dev/held"
MESSAGE = "admission webhook says no"


@dataclass(frozen=True)
class Seen:
    greeting: Greeting
    told: bool = False  # the condition is about children that are not wanted any more, too


def child(greeting: Greeting) -> ConfigMap:
    """A new text is a new ConfigMap; the one before has to go."""
    metadata = ObjectMeta(name=f"{greeting.metadata.name}-{greeting.spec.text}", namespace=greeting.metadata.namespace)
    return ConfigMap(metadata=metadata, data={"text": greeting.spec.text})


def judge(seen: Seen, answers: Answers) -> GreetingStatus:
    if refusal := answers.refusal("map"):
        return GreetingStatus(conditions=(PUBLISHED.false("Refused", refusal.message),))
    if seen.told and answers.undeleted:
        return GreetingStatus(conditions=(PUBLISHED.false("Refused", answers.undeleted[0].message),))
    return GreetingStatus(conditions=(PUBLISHED.true("Published", f"the text is {seen.greeting.spec.text}"),))


def controller(*, finalizer: bool = False, told: bool = False) -> Controller[Seen]:
    def desire(seen: Seen) -> Wanted:
        going = seen.greeting.deleting
        children: dict[str, Object] = {} if going else {"map": child(seen.greeting)}
        return Wanted(children=children, finalizer=finalizer and not going)

    return Controller(
        name="greetings",
        kind=Greeting,
        observe=lambda _view, greeting, _results: Seen(greeting, told),
        desire=desire,
        judge=judge,
        status=ByManager(manager="seamark-greetings", conditions=(PUBLISHED,)),
        writes=Writes(children=(ConfigMap,), finalizers=(FINALIZER,)),
    )


def refusing(method: str, path: str) -> Callable[[HttpRequest], Answer | None]:
    def fault(request: HttpRequest) -> Answer | None:
        refused = request.method == method and request.path.startswith(path) and not request.path.endswith("/status")
        return failed(403, "Forbidden", MESSAGE) if refused else None

    return fault


async def events(small: SmallWorld) -> list[str]:
    found = await small.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
    return [f"{one['reason']}: {one['note']}" for one in found["items"]]


async def published(small: SmallWorld, name: str) -> tuple[str, int]:
    found = (await small.greeting(name))["status"]["conditions"]
    (condition,) = [one for one in found if one["type"] == PUBLISHED.name]
    return condition["message"], condition["observedGeneration"]


def test_a_refused_delete_is_told_and_the_status_is_written_in_the_same_reconcile() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(controller()):
            await small.greet("a", text="one")
            await asyncio.sleep(1)
            assert await published(small, "a") == ("the text is one", 1)
            small.wire.fault = refusing("DELETE", CONFIG_MAPS)
            await small.change("a", text="two")
            await asyncio.sleep(0.015)
            assert await published(small, "a") == ("the text is two", 2)
            await asyncio.sleep(1)
            assert await events(small) == [f"DeleteRefused: ConfigMap default/a-one is not deleted: {MESSAGE}"]
            small.wire.fault = lambda _request: None
            await asyncio.sleep(120)
            left = await small.ask("GET", CONFIG_MAPS)
            assert [one["metadata"]["name"] for one in left["items"]] == ["a-two"]

    world(test, GREETING)


def test_a_condition_can_say_that_a_child_is_still_there_until_it_is_gone() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(controller(told=True)):
            await small.greet("a", text="one")
            await asyncio.sleep(1)
            small.wire.fault = refusing("DELETE", CONFIG_MAPS)
            await small.change("a", text="two")
            await asyncio.sleep(1)
            assert await published(small, "a") == (f"ConfigMap default/a-one is not deleted: {MESSAGE}", 2)
            small.wire.fault = lambda _request: None
            await asyncio.sleep(120)
            assert await published(small, "a") == ("the text is two", 2)

    world(test, GREETING)


def test_a_refused_finalizer_is_told_and_nothing_is_made_without_it() -> None:
    async def test(small: SmallWorld) -> None:
        small.wire.fault = refusing("PATCH", GREETINGS)
        async with small.operating(controller(finalizer=True)):
            await small.greet("a", text="one")
            await asyncio.sleep(1)
            message, generation = await published(small, "a")
            assert (message.endswith(MESSAGE), generation) == (True, 1)
            assert await events(small) == [
                f"MetadataRefused: metadata.finalizers of this object can't be changed: {MESSAGE}"
            ]
            assert not [one for one in small.writes() if one.startswith("POST configmaps")]
            small.wire.fault = lambda _request: None
            await asyncio.sleep(120)
            assert await published(small, "a") == ("the text is one", 1)

    world(test, GREETING)


def test_a_release_that_is_refused_is_told() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(controller(finalizer=True)):
            await small.greet("a", text="one")
            await asyncio.sleep(1)
            small.wire.fault = refusing("PATCH", GREETINGS)
            await small.ask("DELETE", f"{GREETINGS}/a")
            await asyncio.sleep(5)
            assert await events(small) == [
                f"MetadataRefused: metadata.finalizers of this object can't be changed: {MESSAGE}"
            ]
            small.wire.fault = lambda _request: None
            await asyncio.sleep(120)
            assert (await small.greeting("a"))["code"] == 404

    world(test, GREETING)


def test_a_status_that_is_refused_is_told() -> None:
    async def test(small: SmallWorld) -> None:
        small.wire.fault = lambda request: (
            failed(403, "Forbidden", MESSAGE) if request.path.endswith("/status") else None
        )
        async with small.operating(controller()):
            await small.greet("a", text="one")
            await asyncio.sleep(1)
            assert await events(small) == [f"Refused: {MESSAGE}"]

    world(test, GREETING)
