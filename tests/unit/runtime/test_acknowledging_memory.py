"""A memory is advanced before each reconcile, and acknowledged after the status of the reconcile is written."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from seamark.families.sample.family import GREETING
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.view import View
from tests.greetings import greeting_controller
from tests.unit.runtime.small_world import SmallWorld, world


@dataclass
class Recorder:
    steps: list[str] = field(default_factory=list)

    def advance(self, _view: View, _subject: Any, _results: Results) -> None:
        self.steps.append("advance")

    def acknowledge(self, _seen: Any, _answers: Answers) -> None:
        self.steps.append("acknowledge")

    def forget(self, key: Key) -> None:
        self.steps.append(f"forget {key.name}")


def test_it_is_acknowledged_after_the_status_is_written_and_forgotten_with_the_object() -> None:
    memory = Recorder()

    async def test(small: SmallWorld) -> None:
        def record(request: HttpRequest) -> None:
            if request.path.endswith("/status"):
                memory.steps.append("status")

        small.wire.fault = record
        async with small.operating(replace(greeting_controller(), memory=memory)):
            await small.greet("one")
            await asyncio.sleep(1)
            first = memory.steps[: memory.steps.index("acknowledge") + 1]
            assert first[-2:] == ["status", "acknowledge"]
            assert first[0] == "advance"
            await small.ask("DELETE", "/apis/sample.seamark.dev/v1alpha1/namespaces/default/greetings/one")
            await asyncio.sleep(1)
            assert memory.steps[-1] == "forget one"

    world(test, GREETING)


def test_it_is_not_acknowledged_while_the_status_can_not_be_written() -> None:
    memory = Recorder()

    async def test(small: SmallWorld) -> None:
        def refuse(request: HttpRequest) -> Answer | None:
            return Answer(500, b"{}") if request.path.endswith("/status") else None

        small.wire.fault = refuse
        async with small.operating(replace(greeting_controller(), memory=memory)):
            await small.greet("one")
            await asyncio.sleep(1)
            assert "advance" in memory.steps
            assert "acknowledge" not in memory.steps
            small.wire.fault = lambda _request: None
            await asyncio.sleep(60)
            assert "acknowledge" in memory.steps

    world(test, GREETING)
