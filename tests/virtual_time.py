"""An event loop on which waiting takes no time.

- `time()` does not advance while anything can run, and jumps to the next timer when nothing can.
- A program that waits for something that can never come fails, instead of hanging.
- The same program takes the same steps at the same times in every run.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

V = TypeVar("V")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class LoopClock:
    """The running loop's time, with a wall clock that started at `epoch`. For deterministic loops."""

    def __init__(self, epoch: datetime) -> None:
        self._epoch = epoch

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def boottime(self) -> float:
        return self.monotonic()

    def wall(self) -> datetime:
        return datetime.fromtimestamp(self._epoch.timestamp() + self.monotonic(), UTC)


CLOCK = LoopClock(EPOCH)


class NothingLeft(AssertionError):
    """Everything waits, and no timer will wake anything."""


class _Jumping(selectors.DefaultSelector):
    """Looks at the sockets without waiting; where the loop wanted to wait, its clock is put forward."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise NothingLeft("every task waits for something that nothing will bring about")
        self.loop.jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        selector = _Jumping()
        super().__init__(selector)
        selector.loop = self
        self._now = 0.0

    def time(self) -> float:
        return self._now

    def jump(self, timeout: float) -> None:
        """To the moment of the next timer exactly: adding a difference would be off by a rounding."""
        scheduled: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        moment = scheduled[0].when() if scheduled else self._now + timeout
        self._now = max(self._now, min(moment, self._now + timeout + 1e-6))


def run(program: Coroutine[Any, Any, V]) -> V:
    """Runs it to its end in no time. Whatever it leaves behind is cancelled, as `asyncio.run` does."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(program)


def elapsed() -> float:
    """Seconds since the start of this virtual world."""
    return asyncio.get_running_loop().time()


async def settle(turns: int = 50) -> None:
    """Lets everything run that can run without time passing."""
    for _ in range(turns):
        await asyncio.sleep(0)
