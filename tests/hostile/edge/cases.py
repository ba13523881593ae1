"""A case, what became of it, and the running of many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum


class Outcome(Enum):
    REFUSED = "refused"  # an error that names the limit, or a closed connection
    SERVED = "served"
    SILENT = "silent"  # neither, within the deadline
    CRASHED = "crashed"  # an internal error
    CROSSED = "crossed"  # something of another tenant was returned, or taken


@dataclass(frozen=True)
class Case:
    port: str
    name: str
    run: Callable[[], Awaitable[Outcome]]


@dataclass
class Tally:
    cases: int = 0
    ports: set[str] = field(default_factory=set)
    failures: dict[Outcome, list[str]] = field(default_factory=dict)
    outcomes: dict[Outcome, int] = field(default_factory=dict)

    def count(self, case: Case, outcome: Outcome) -> None:
        self.cases += 1
        self.ports.add(case.port)
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if outcome not in (Outcome.REFUSED, Outcome.SERVED):
            self.note(outcome, f"{case.port}: {case.name}")

    def note(self, outcome: Outcome, words: str) -> None:
        self.failures.setdefault(outcome, []).append(words)

    def number(self, outcome: Outcome) -> int:
        return len(self.failures.get(outcome, ()))


async def played(cases: Iterable[Case], tally: Tally, at_once: int, seconds: float = 30.0) -> None:
    """Runs the cases, so many at once; one that does not end is silent."""
    waiting = iter(cases)

    async def worker() -> None:
        for case in waiting:
            try:
                async with asyncio.timeout(seconds):
                    outcome = await case.run()
            except TimeoutError:
                outcome = Outcome.SILENT
            except (OSError, EOFError, asyncio.IncompleteReadError):
                outcome = Outcome.REFUSED  # the edge closed it
            tally.count(case, outcome)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(worker())
