"""An event loop without sockets, threads or a clock of its own.

- Time does not advance while anything can run, then jumps to the next timer.
- Timers of equal time run in the order in which they were set.
- If nothing can ever happen again, that is an error and not a hang.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

V = TypeVar("V")

MOST_ROUNDS = 20_000  # of the loop in one moment


class NothingLeftError(AssertionError):
    """Everything waits, and no timer will wake anything."""


class StandstillError(AssertionError):
    """All tasks are busy, and time does not pass."""


class Process:
    """One of several processes on one loop. While it is paused, nothing in it runs, and its timers come late."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[asyncio.Handle] | None = None

    def start(self, program: Coroutine[Any, Any, V]) -> asyncio.Task[V]:
        """Runs it, and all that it starts, in this process."""
        context = copy_context()
        context.run(_PROCESS.set, self)
        return self._loop.create_task(program, context=context)

    def pause(self, seconds: float) -> None:
        self._waiting = []
        outside = copy_context()
        outside.run(_PROCESS.set, None)
        self._loop.call_later(seconds, self._go_on, context=outside)

    def _go_on(self) -> None:
        waiting, self._waiting = self._waiting or [], None
        self._loop._ready.extend(waiting)  # type: ignore[attr-defined]  # asyncio's

    def holds(self, handle: asyncio.Handle) -> bool:
        if self._waiting is None:
            return False
        self._waiting.append(handle)
        return True


_PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


def outside() -> Context:
    """A context that belongs to no process: for the network, and what lies behind it."""
    context = copy_context()
    context.run(_PROCESS.set, None)
    return context


def _held(handle: Any) -> bool:
    process = handle._context.get(_PROCESS)
    return process is not None and process.holds(handle)


class _Handle(asyncio.Handle):
    def _run(self) -> None:
        if not _held(self):
            super()._run()


class _Timer(asyncio.TimerHandle):
    def __init__(self, order: int, *args: Any) -> None:
        super().__init__(*args)
        self._order = order

    def _run(self) -> None:
        if not _held(self):
            super()._run()

    def __lt__(self, other: Any) -> bool:
        return bool((self._when, self._order) < (other._when, other._order))  # type: ignore[attr-defined]  # asyncio's


class _NoSockets:
    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop
        self._rounds = 0

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise NothingLeftError("every task waits for something that nothing will bring about")
        if timeout > 0:
            self._loop.jump()
            self._rounds = 0
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            raise StandstillError(f"{MOST_ROUNDS} rounds of the loop, and no time has passed")
        return []

    def close(self) -> None:
        pass


class SimLoop(asyncio.BaseEventLoop):
    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._order = 0
        self._clock_resolution = 1e-9
        self._selector = _NoSockets(self)

    def time(self) -> float:
        return self._now

    def jump(self) -> None:
        scheduled: list[_Timer] = self._scheduled  # type: ignore[attr-defined]  # asyncio's
        self._now = max(self._now, scheduled[0].when())

    def call_at(  # type: ignore[override]  # typeshed wants type variables for the callback's arguments
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self._order += 1
        timer = _Timer(self._order, when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]  # asyncio's
        timer._scheduled = True  # type: ignore[attr-defined]  # asyncio counts cancelled timers by it
        return timer

    def _call_soon(self, callback: Callable[..., object], args: Any, context: Context | None) -> asyncio.Handle:
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]  # asyncio's
        return handle

    def _process_events(self, _events: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass


def run(program: Coroutine[Any, Any, V]) -> V:
    """Runs it to its end in no time; what it leaves behind is cancelled."""
    with asyncio.Runner(loop_factory=SimLoop) as runner:
        return runner.run(program)
