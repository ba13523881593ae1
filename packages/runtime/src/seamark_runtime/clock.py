"""Time, passed in.

- `monotonic` measures ages and deadlines; `wall` is for what people and Kubernetes read.
- `boottime` goes on while the machine is suspended, which `monotonic` on Linux does not: for a deadline that another
  machine counts on, as a Lease's.
"""

from __future__ import annotations

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


def timestamp(moment: datetime) -> str:
    """RFC 3339 to the second, as Kubernetes writes times."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(moment: datetime) -> str:
    """RFC 3339 to the microsecond, as Leases and Events want it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
