"""Time, passed in.

- `monotonic` measures ages and deadlines; `wall` is for what people and Kubernetes read.
- `boottime` goes on while the machine is suspended, which `monotonic` on Linux does not: for a deadline that another
  machine counts on, as a Lease's.
- All come from the running event loop's clock where that is virtual, so a simulated day takes no time.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

_BOOTTIME: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS: its monotonic clock does not stop


class Clock(Protocol):
    def monotonic(self) -> float: ...

    def wall(self) -> datetime: ...


class SuspendAwareClock(Clock, Protocol):
    def boottime(self) -> float: ...


class SystemClock:
    """The machine's own clocks."""

    def monotonic(self) -> float:
        return time.monotonic()

    def boottime(self) -> float:
        return time.clock_gettime(_BOOTTIME)

    def wall(self) -> datetime:
        return datetime.now(UTC)


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


def timestamp(moment: datetime) -> str:
    """RFC 3339 to the second, as Kubernetes writes times."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(moment: datetime) -> str:
    """RFC 3339 to the microsecond, as Leases and Events want it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
