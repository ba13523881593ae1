"""Names that stay their holder's for a while after they were released. No I/O, no clock.

- A name has at most one holder. `release` starts its hold: until that ends, only the same holder may claim the name.
- `claim` ends a hold at once. `expired` ends those whose time has come, and returns the names that are free now.
- Memory is bounded: each holder has at most `most` holds, and the oldest of its own is given up for a new one. So a
  holder that releases many names shortens only its own holds.
- Times are passed in, and never go back. Holds are as long as each other, so they end in the order in which they began.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Hold:
    """A released name is this holder's until that time."""

    holder: str
    until: float


class Holds:
    """The holds of one collection of names."""

    def __init__(self, seconds: float, most: int = 10_000) -> None:
        self._seconds = seconds
        self._most = most
        self._holds: dict[str, Hold] = {}  # by name, the one that ends first in front
        self._names: dict[str, dict[str, None]] = {}  # the reverse: by holder, the oldest in front

    def __len__(self) -> int:
        return len(self._holds)

    def __iter__(self) -> Iterator[str]:
        return iter(self._holds)

    def holder(self, name: str) -> str | None:
        """The only holder that may claim this name; None if any may."""
        hold = self._holds.get(name)
        return hold.holder if hold is not None else None

    def release(self, name: str, holder: str, now: float) -> str | None:
        """Its last claim is gone. Returns the name that is free already, because its holder has too many holds."""
        if self._seconds <= 0:
            return name
        self.claim(name)
        names = self._names.setdefault(holder, {})
        oldest = next(iter(names)) if len(names) >= self._most else None
        self._holds[name] = Hold(holder, now + self._seconds)
        names[name] = None
        if oldest is not None:
            self.claim(oldest)
        return oldest

    def claim(self, name: str) -> None:
        """A permitted holder has it: there is nothing to hold."""
        hold = self._holds.pop(name, None)
        if hold is None:
            return
        names = self._names[hold.holder]
        names.pop(name)
        if not names:
            del self._names[hold.holder]

    def expired(self, now: float) -> list[str]:
        """The names whose hold has ended by now. They are free."""
        found: list[str] = []
        for name, hold in self._holds.items():
            if hold.until > now:
                break
            found.append(name)
        for name in found:
            self.claim(name)
        return found

    @property
    def next_end(self) -> float:
        """When the next hold ends: the time of a timer."""
        return next((hold.until for hold in self._holds.values()), NEVER)
