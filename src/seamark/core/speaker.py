"""Saying a status: one write per outcome, none when nothing changed.

- A condition for which nobody has answered yet leaves standing what was said of this generation before, for one
  shelf life after the start; so a restart un-says nothing, and nothing unverified stands for ever.
- While answers or reports are under way, a first statement waits for them for a moment: then it is one write instead
  of two. It never waits where what stands now would be a lie meanwhile.
- A flip of the summary condition becomes an event, after the write was acknowledged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seamark.core.client import Client
from seamark.core.clock import Clock, timestamp
from seamark.core.conditions import Stamp, Statements, flips, still_true
from seamark.core.controller import Controller
from seamark.core.events import Events


@dataclass(frozen=True, slots=True)
class Said:
    """What came of it: the object after the write (None without one), and when to look again (None: no need)."""

    written: Any = None
    again: float | None = None


@dataclass
class Speaker:
    client: Client
    events: Events
    clock: Clock
    started: float = float("inf")  # since when this process leads

    async def say(self, controller: Controller[Any], obj: Any, judged: Any, answers_due: float | None) -> Said:
        """`answers_due`: since when answers to this key's calls are under way; None when all are in."""
        now = self.clock.monotonic()
        mode = controller.status
        stands_until = self.started + controller.shelf_life
        stamp = Stamp(obj.metadata.generation or None, timestamp(self.clock.wall()), awaiting_stands=now < stands_until)
        said = mode.said(obj, judged)
        status = mode.stamped(judged, said, stamp)
        again = stands_until - now if stamp.kept else None
        if status == said:
            return Said(again=again)
        old, new = mode.statements(said), mode.statements(status)
        if answers_due is not None and (wait := answers_due + controller.linger - now) > 0 and still_true(old, new):
            return Said(again=wait)
        written = await mode.write(self.client, obj, status)
        self._tell_flips(controller, obj, old, new)
        return Said(written, again)

    def _tell_flips(self, controller: Controller[Any], obj: Any, old: Statements, new: Statements) -> None:
        summaries = {condition.name for condition in controller.status.conditions if condition.summary}
        for before, after in flips(old, new):
            if after.type in summaries:
                self.events.flip(obj, before, after)
