"""How far the examples are: what their objects say of themselves, and which of their questions are answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seamark.api.meta import Condition
from seamark.cli.dev.answers import Answer, Asker, Question
from seamark.cli.dev.examples import Example
from seamark.core.conditions import TRUE
from seamark.core.controller import Controller
from seamark.core.operator import Operator

SOON, LATER = 0.1, 2.0  # seconds between two questions that were not answered yet, and that were


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    good: bool
    words: str
    command: str = ""


class Progress:
    """Follows the examples from `began` on. An example is true when all its objects are, and all its answers came."""

    def __init__(self, examples: list[Example], began: float) -> None:
        self.examples = examples
        self.objects: list[Row] = []
        self.answers: dict[Question, Answer] = {}
        self._began = began

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    @property
    def rows(self) -> list[Row]:
        asked = [one for example in self.examples for one in example.questions]
        answers = [self.answers.get(one, Answer(False, "not asked yet")) for one in asked]
        told = [
            Row(str(one), answer.good, answer.words, answer.command) for one, answer in zip(asked, answers, strict=True)
        ]
        return [*self.objects, *told]

    @property
    def true(self) -> int:
        """How many examples are."""
        bad = {row.what for row in self.rows if not row.good}
        return sum(not ({*one.objects, *map(str, one.questions)} & bad) for one in self.examples)

    @property
    def done(self) -> bool:
        return bool(self.objects) and all(row.good for row in self.rows)

    @property
    def left(self) -> list[str]:
        return [f"{row.what}: {row.words}" for row in self.rows if not row.good]

    async def follow(self, operator: Operator, asker: Asker) -> None:
        """Until cancelled."""
        questions = [one for example in self.examples for one in example.questions]
        async with asyncio.TaskGroup() as group:
            for one in questions:
                group.create_task(self._ask(asker, one))
            while True:
                self.objects = list(objects_of(operator))
                await asyncio.sleep(SOON)

    async def _ask(self, asker: Asker, question: Question) -> None:
        while True:
            answer = self.answers[question] = await asker.ask(question)
            await asyncio.sleep(LATER if answer.good else SOON)


def objects_of(operator: Operator) -> Iterator[Row]:
    """Each object that has a summary: whether that is True for its present generation, and in what words."""
    for controller in operator.loop.waker.controllers.values():
        if isinstance(controller, Controller) and any(one.summary for one in controller.status.conditions):
            for obj in sorted(operator.informers[controller.kind].cache, key=lambda one: one.key):
                said = summary(controller, obj)
                true = said is not None and said.status == TRUE and said.observed_generation == obj.metadata.generation
                yield Row(f"{controller.kind.RESOURCE.kind} {obj.key}", true, said.message if said else "")


def summary(controller: Controller[Any], obj: Any) -> Condition | None:
    names = [condition.name for condition in controller.status.conditions if condition.summary]
    conditions = (getattr(obj.status, "conditions", None) or ()) if obj.status is not None else ()
    return next((condition for condition in conditions if condition.type in names), None)
