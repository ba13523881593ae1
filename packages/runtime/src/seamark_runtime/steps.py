"""How long a task holds the event loop: the CPU time of each of its steps, from one await that waits to the next.

Nothing else runs on the loop during a step. CPU time and not elapsed time: a busy machine is not our work.
`loopwatch` measures the whole loop; this tells which task it was.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

import structlog
from prometheus_client import Gauge

from seamark_runtime.loopwatch import LONG_SECONDS

log = structlog.get_logger(__name__)

T = TypeVar("T")


class LongestStep:
    """The longest step so far, on a gauge. One that is longer than allowed is logged with the name of its task."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self.seconds = 0.0

    def note(self, seconds: float) -> None:
        if seconds > self.seconds:
            self.seconds = seconds
            self._gauge.set(seconds)
            if seconds > LONG_SECONDS:
                task = asyncio.current_task()
                name = task.get_name() if task else ""
                log.warning("a task held the event loop", task=name, milliseconds=round(seconds * 1000))


@coroutine
def measured(
    work: Coroutine[Any, Any, T], longest: LongestStep, now: Callable[[], float] = time.thread_time
) -> Generator[Any, Any, T]:
    """The same work, each of its steps measured."""
    thrown: BaseException | None = None
    while True:
        began = now()
        try:
            waits_for = work.send(None) if thrown is None else work.throw(thrown)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            longest.note(now() - began)
        thrown = None
        try:
            yield waits_for
        except GeneratorExit:
            work.close()
            raise
        except BaseException as error:  # a cancellation, for one: it is for the work
            thrown = error
