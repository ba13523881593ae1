"""When faults were at work, and on what. Times are monotonic."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.witness.api import Key

SETTLE = 45.0  # seconds after a repair in which conditions may change once more
LEASE = 60.0  # seconds within which a leader must be there again


@dataclass(eq=False)
class Window:
    """One fault, from its injection to its repair.

    - `touches`: whether an object's conditions may change by it. `breaks`: families whose clients may fail.
    - `outage`: nobody is broken that clients use; those who know can't be asked, or can't write.
    - `mutes`: no status can be written while it lasts.
    """

    name: str
    begin: float
    touches: Callable[[Key], bool]
    breaks: frozenset[str] = frozenset()
    outage: bool = False
    mutes: bool = False
    end: float | None = None

    def active(self, at: float, after: float = 0.0) -> bool:
        return self.begin <= at and (self.end is None or at <= self.end + after)


@dataclass
class Windows:
    """All faults of a run, and when a leader was seen to renew its Lease."""

    entries: list[Window] = field(default_factory=list)
    renewals: list[float] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, window: Window) -> Window:
        with self._lock:
            self.entries.append(window)
        return window

    def renewed(self, at: float) -> None:
        self.renewals.append(at)

    def at(self, at: float, after: float = 0.0) -> Iterator[Window]:
        with self._lock:
            entries = list(self.entries)
        return (window for window in entries if window.active(at, after))

    def touching(self, key: Key, at: float, after: float = 0.0) -> list[Window]:
        return [window for window in self.at(at, after) if window.touches(key)]

    def writing_since(self, at: float) -> float | None:
        """Since when statuses can be written without a break; None: they can't be."""
        since = 0.0
        with self._lock:
            muting = [window for window in self.entries if window.mutes and window.begin <= at]
        for window in muting:
            if window.end is None or window.end > at:
                return None
            led = next((time for time in self.renewals if time > window.end), None)
            if led is None or led > at:
                if at - window.end < LEASE:
                    return None
                led = window.end + LEASE
            since = max(since, led)
        return since
