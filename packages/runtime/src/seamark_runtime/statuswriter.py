"""The status writer: one write per outcome, none when nothing changed.

- A condition that is not verified yet keeps what was written for this generation before, for one shelf life after the
  start: a restart withdraws nothing, and nothing unverified stays.
- While results or entries are awaited, a first status waits for them for a moment: one write instead of two. It does
  not wait if what is written now would be false meanwhile.
- A change of the summary condition becomes an event, after the write was acknowledged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seamark_runtime.client import Client
from seamark_runtime.clock import Clock, timestamp
from seamark_runtime.conditions import ConditionMap, Stamp, flips, still_true
from seamark_runtime.controller import Controller
from seamark_runtime.events import Events


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The object after the write (None without one), and the seconds after which to requeue (None: no need)."""

    written: Any = None
    requeue_after: float | None = None


@dataclass
class StatusWriter:
    client: Client
    events: Events
    clock: Clock
    started: float = float("inf")  # since when this process leads

    async def write(self, controller: Controller[Any], obj: Any, judged: Any, answers_due: float | None) -> WriteResult:
        """`answers_due`: since when results are awaited; None if there are all."""
        now = self.clock.monotonic()
        mode = controller.status
        kept_until = self.started + controller.timing.shelf_life
        stamp = Stamp(
            obj.metadata.generation or None,
            timestamp(self.clock.wall()),
            awaiting_stands=now < kept_until,
            running=max(now - self.started, 0.0),
        )
        published = mode.published(obj, judged)
        status = mode.stamped(judged, published, stamp)
        requeue_after = min(kept_until - now, stamp.shortest) if stamp.kept else None
        if status == published:
            return WriteResult(requeue_after=requeue_after)
        old, new = mode.condition_map(published), mode.condition_map(status)
        if (
            answers_due is not None
            and (wait := answers_due + controller.timing.linger - now) > 0
            and still_true(old, new)
        ):
            return WriteResult(requeue_after=wait)
        written = await mode.write(self.client, obj, status)
        self._record_flips(controller, obj, old, new)
        return WriteResult(written, requeue_after)

    def _record_flips(self, controller: Controller[Any], obj: Any, old: ConditionMap, new: ConditionMap) -> None:
        summaries = {condition.name for condition in controller.status.conditions if condition.summary}
        for before, after in flips(old, new):
            if after.type in summaries:
                self.events.flip(obj, before, after)
        for place, condition in new.items():
            was = old.get(place)
            if was is not None and was.status == condition.status and condition.type in summaries:
                self.events.changed(obj, condition)
