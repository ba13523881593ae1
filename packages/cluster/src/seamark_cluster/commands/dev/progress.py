"""Progress of the examples: the conditions of their objects, and which of their checks pass."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seamark_cluster.commands.dev.checks import Check, Checker, Outcome
from seamark_cluster.commands.dev.examples import Example
from seamark_runtime.api.meta import Condition
from seamark_runtime.conditions import TRUE
from seamark_runtime.controller import Controller
from seamark_runtime.operator import Operator

SOON, LATER = 0.1, 2.0  # seconds between two checks: while it fails, and once it passes
AT_REST = 1.0  # seconds between two looks at the objects, once all are ready


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    good: bool
    message: str
    command: str = ""


class Progress:
    """Follows the examples, starting at `began`. An example passes when all its objects are ready and all its checks
    pass.
    """

    def __init__(self, examples: list[Example], began: float) -> None:
        self.examples = examples
        self.objects: list[Row] = []
        self.outcomes: dict[Check, Outcome] = {}
        self._began = began

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    @property
    def rows(self) -> list[Row]:
        checks = [check for example in self.examples for check in example.checks]
        outcomes = [self.outcomes.get(item, Outcome(False, "not checked yet")) for item in checks]
        check_rows = [
            Row(str(entry), answer.good, answer.message, answer.command)
            for entry, answer in zip(checks, outcomes, strict=True)
        ]
        return [*self.objects, *check_rows]

    @property
    def true(self) -> int:
        """The number of examples that pass."""
        bad = {row.what for row in self.rows if not row.good}
        return sum(not ({*example.objects, *map(str, example.checks)} & bad) for example in self.examples)

    @property
    def done(self) -> bool:
        return bool(self.objects) and all(row.good for row in self.rows)

    @property
    def left(self) -> list[str]:
        return [f"{row.what}: {row.message}" for row in self.rows if not row.good]

    async def follow(self, operator: Operator, checker: Checker) -> None:
        """Runs until cancelled."""
        checks = [check for example in self.examples for check in example.checks]
        async with asyncio.TaskGroup() as group:
            for item in checks:
                group.create_task(self._check(checker, item))
            while True:
                self.objects = list(objects_of(operator))
                await asyncio.sleep(AT_REST if self.done else SOON)

    async def _check(self, checker: Checker, check: Check) -> None:
        while True:
            answer = self.outcomes[check] = await checker.check(check)
            await asyncio.sleep(LATER if answer.good else SOON)


def objects_of(operator: Operator) -> Iterator[Row]:
    """Each object with a summary condition: whether it is True for the current generation, and its message."""
    for controller in operator.loop.router.controllers.values():
        if isinstance(controller, Controller) and any(condition.summary for condition in controller.status.conditions):
            for obj in sorted(operator.informers[controller.kind].cache, key=lambda item: item.key):
                condition = summary(controller, obj)
                true = (
                    condition is not None
                    and condition.status == TRUE
                    and condition.observed_generation == obj.metadata.generation
                )
                yield Row(f"{controller.kind.RESOURCE.kind} {obj.key}", true, condition.message if condition else "")


def summary(controller: Controller[Any], obj: Any) -> Condition | None:
    names = [condition.name for condition in controller.status.conditions if condition.summary]
    conditions = (getattr(obj.status, "conditions", None) or ()) if obj.status is not None else ()
    return next((condition for condition in conditions if condition.type in names), None)
