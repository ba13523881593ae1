"""A first statement waits for reports for a moment, as it waits for calls."""

from __future__ import annotations

import asyncio

import pytest

from seamark.api.sample import Greeting, GreetingStatus
from seamark.families.sample.family import GREETING
from seamark.families.sample.greeting.state import CONDITIONS, POSTED, PUBLISHED, READY
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Call
from seamark_runtime.controller import CollectionController, Controller, Declaration, Output, Reads, Timing, Wanted
from seamark_runtime.source import Collection, Fresh
from seamark_runtime.status import ByManager
from tests.unit.runtime.small_world import SmallWorld, world


def judged_from_reports(takes: float) -> tuple[Declaration, ...]:
    """A kind whose Ready is what a group says after so many seconds."""
    reports: Collection[Key, bool] = Collection("answers")

    def call(key: Key) -> Call[None]:
        return Call(target=str(key), action=key, timeout=60)

    async def perform(_action: Key) -> None:
        await asyncio.sleep(takes)

    def judge(answered: bool) -> GreetingStatus:
        ready = READY.true("Ready") if answered else READY.not_yet("Pending", "no response yet")
        return GreetingStatus(conditions=(PUBLISHED.true("Published"), POSTED.true("NoBoard"), ready))

    group = CollectionController(
        name="answers",
        keyed={Greeting: lambda greeting: (greeting.key,)},
        observe=lambda view, key, results: (key, results) if view.intent(Greeting, key) else None,
        desire=lambda seen: Wanted(calls=(call(seen[0]),)),
        perform=perform,
        outputs=(
            Output(
                reports, lambda seen, _answers: {seen[0]: True} if isinstance(seen[1].to(call(seen[0])), Fresh) else {}
            ),
        ),
    )
    controller = Controller(
        name="greetings",
        kind=Greeting,
        observe=lambda view, greeting, _results: {"answered": bool(view.entries(reports, greeting.key))},
        desire=lambda _seen: Wanted(),
        judge=lambda seen, _answers: judge(seen["answered"]),
        status=ByManager(manager="tests", conditions=CONDITIONS),
        reads=Reads(sources=(reports,)),
        timing=Timing(linger=1.0),
    )
    return group, controller


@pytest.mark.parametrize(("takes", "writes"), [(0.5, 1), (10.0, 2)])
def test_an_answer_within_the_moment_is_one_write(takes: float, writes: int) -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(*judged_from_reports(takes)):
            await small.greet("a")
            await asyncio.sleep(5)
            assert await small.condition("a") == ("True Ready" if writes == 1 else "Unknown Pending")
            await asyncio.sleep(10)
            assert await small.condition("a") == "True Ready"
            assert small.writes() == ["PATCH greetings/a/status"] * writes

    world(test, GREETING)
