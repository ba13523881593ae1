"""Runs cases on the API server, many at once, and sees what comes of each.

- A case's objects are made, watched until Seamark has reported something or the deadline has passed, looked at from
  outside, and deleted.
- A process that ends stops everything: what was in flight is deleted, the process is started again, and the suspects
  are tried one at a time, so that the cause is clear.
- A case without a report is tried again, with few others: another one may have kept the operator busy.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tests.hostile.cases import Case
from tests.hostile.client import Client
from tests.hostile.client import Place as Api
from tests.hostile.results import Result, Tally
from tests.hostile.trial import Trials
from tests.hostile.verdict import Outcome
from tests.hostile.world import World

GONE = 90.0  # seconds for the objects of all cases to go
AT_ONCE, FEW, GATEWAYS = 8, 4, 3  # more, and the API server itself makes the canary wait
MOST_CRASHES = 12  # processes that are started again, before the run is given up


class Attack:
    def __init__(self, there: World, client: Client, places: dict[str, Api]) -> None:
        self._world = there
        self.trials = Trials(there, client, places)
        self.tally = Tally()
        self.cases: dict[str, Case] = {}  # by the name of their objects, all that were tried
        self._flying: dict[str, Case] = {}
        self._doubted: list[Case] = []  # no report while others ran
        self._final = False  # whether a case without a report is so when tried again
        self._number = 0
        self._gateways = asyncio.Semaphore(GATEWAYS)
        self.on_case: Callable[[str, Case], None] = lambda _name, _case: None  # for planted faults

    @property
    def flying(self) -> list[str]:
        """Cases whose objects are there now, and those that were there a moment ago."""
        recent = list(self.cases.values())[-2 * AT_ONCE :]
        return list(dict.fromkeys(map(str, [*recent, *self._flying.values()])))

    def forget(self) -> None:
        """What came before does not count."""
        self.tally = Tally()
        self._doubted.clear()

    # ---- many

    async def run(self, cases: Sequence[Case], deadline: float = float("inf"), at_once: int = AT_ONCE) -> int:
        """How many were run before the deadline."""
        waiting = list(reversed(cases))
        while waiting and time.monotonic() < deadline and len(self.tally.restarts) < MOST_CRASHES:
            suspects, crashed = await self._fly(waiting, deadline, at_once), self.tally.count(Outcome.CRASHED)
            await self._alone(suspects)
            if suspects and self.tally.count(Outcome.CRASHED) == crashed:
                self.tally.unblamed.append(f"{self.tally.restarts[-1]}; none of them does it alone")
        if len(self.tally.restarts) >= MOST_CRASHES:
            self.tally.given_up += len(waiting)
        return len(cases) - len(waiting)

    async def _fly(self, waiting: list[Case], deadline: float, at_once: int) -> list[Case]:
        """Takes from `waiting` until it is empty, time is up, or a process has ended; then, what was in flight."""
        tasks: set[asyncio.Task[None]] = set()
        try:
            while (waiting or tasks) and not self._world.ended:
                while waiting and len(tasks) < at_once and time.monotonic() < deadline:
                    tasks.add(asyncio.ensure_future(self._one(waiting.pop())))
                if not tasks:
                    return []
                done, tasks = await asyncio.wait(tasks, timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return await self._cleared() if self._world.ended else []

    async def _cleared(self) -> list[Case]:
        """Deletes what is in flight, and brings back what has ended."""
        suspects = dict(self._flying)
        self._flying.clear()
        for name, case in suspects.items():
            await self.trials.delete(name, case)
        await self._restarted(f"with {len(suspects)} cases in flight")
        return list(suspects.values())

    async def _restarted(self, words: str) -> None:
        for program in self._world.ended:
            self.tally.restarts.append(f"{program.name} ended {words}")
            program.start()
        await asyncio.to_thread(self._world.wait_ready)

    async def _alone(self, suspects: Iterable[Case]) -> None:
        for case in suspects:
            if len(self.tally.restarts) >= MOST_CRASHES:
                self.tally.given_up += 1
                continue
            await self._one(case, alone=True)

    async def _one(self, case: Case, *, alone: bool = False) -> None:
        name = self.next_name()
        self._flying[name] = self.cases[name] = case
        self.on_case(name, case)
        if case.kind == "Gateway":
            async with self._gateways:
                result = await self._tried(name, case)
        else:
            result = await self._tried(name, case)
        if self._world.ended:
            if not alone:
                return  # one of those in flight did it; who, is found out alone
            ended = ", ".join(program.name for program in self._world.ended)
            result = Result(case, Outcome.CRASHED, f"{ended} ended")
            await self.trials.delete(name, case)
            await self._restarted(f"by {case}")
        elif result.outcome is Outcome.SILENT and not (alone or self._final or case.entry.group == "base"):
            self._doubted.append(case)
            self._flying.pop(name, None)
            return
        self._flying.pop(name, None)
        self.tally.results.append(result)

    async def again(self, most: int) -> None:
        """Tries cases without a report again, a few at once. Beyond `most` of them, the first impression counts."""
        doubted, self._doubted = self._doubted, []
        self._final = True
        await self.run(doubted[:most], at_once=FEW)
        for case in doubted[most:]:
            self.tally.results.append(Result(case, Outcome.SILENT, "not tried again"))

    # ---- one

    def next_name(self) -> str:
        self._number += 1
        return f"h-{self._number}"

    async def _tried(self, name: str, case: Case) -> Result:
        began = time.monotonic()
        try:
            result = await self.trials.tried(name, case)
            return replace(result, seconds=time.monotonic() - began)
        finally:
            if name in self._flying:
                await self.trials.delete(name, case)

    async def cleared(self, seconds: float = GONE) -> list[str]:
        """What is still there of all cases when the time for it to go has passed."""
        deadline = time.monotonic() + seconds
        while (left := self.trials.left) and time.monotonic() < deadline:
            await asyncio.sleep(0.5)
        return left
