"""Who gives way when no slot is free: the owner with the most connections, and of that owner the source with the most.

Nothing here costs anything while bytes flow: how long a connection is idle is asked when one has to give way.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Generic, Protocol, TypeVar

IDLE_SECONDS = 5.0  # without traffic: the oldest connection like that gives way first
LOOKED_AT = 64  # connections that are asked how long they are idle: the work is bounded

K = TypeVar("K")


class Held(Protocol):
    """A connection that counts for an owner and a source."""

    owner: str
    source: str
    idle: Callable[[], float]  # seconds without traffic


H = TypeVar("H", bound=Held)


class Tally(Generic[K]):
    """Counts by key, and a key with the greatest count: each in constant time."""

    def __init__(self) -> None:
        self.most = 0  # the greatest count; 0 if there is no key
        self._counts: dict[K, int] = {}  # none is 0
        self._levels: dict[int, dict[K, None]] = {}  # the keys with a count; none is empty

    def __getitem__(self, key: K) -> int:
        return self._counts.get(key, 0)

    def __bool__(self) -> bool:
        return bool(self._counts)

    def greatest(self) -> K:
        """A key with the count `most`; there must be one."""
        return next(iter(self._levels[self.most]))

    def up(self, key: K) -> None:
        self._move(key, self[key] + 1)

    def down(self, key: K) -> None:
        self._move(key, self[key] - 1)

    def _move(self, key: K, count: int) -> None:
        if before := self._counts.pop(key, 0):
            del self._levels[before][key]
            if not self._levels[before]:
                del self._levels[before]
        if count:
            self._counts[key] = count
            self._levels.setdefault(count, {})[key] = None
        if count > self.most or self.most not in self._levels:  # this key had the most, alone, and is a step below it
            self.most = count


class Holders(Generic[H]):
    """Connections by owner and source."""

    def __init__(self) -> None:
        self.count = 0
        self._owners: Tally[str] = Tally()
        self._sources: dict[str, Tally[str]] = {}  # by owner; only owners with connections
        self._held: dict[tuple[str, str], dict[H, None]] = {}  # by owner and source, the oldest first; none is empty

    def add(self, held: H) -> None:
        self.count += 1
        self._owners.up(held.owner)
        self._sources.setdefault(held.owner, Tally()).up(held.source)
        self._held.setdefault((held.owner, held.source), {})[held] = None

    def discard(self, held: H) -> None:
        place = (held.owner, held.source)
        if held not in self._held.get(place, ()):
            return
        del self._held[place][held]
        if not self._held[place]:
            del self._held[place]
        self.count -= 1
        self._owners.down(held.owner)
        self._sources[held.owner].down(held.source)
        if not self._sources[held.owner]:
            del self._sources[held.owner]

    def giving_way(self, owner: str, source: str) -> H | None:
        """What is closed for a new connection of this owner from this source; None if it has its share already.

        One with as many as the largest holder, or one fewer, gets nothing of it: two holders do not displace each
        other in turn.
        """
        if self._owners[owner] + 1 < self._owners.most:
            largest = self._owners.greatest()
            return self._idle(largest, self._sources[largest].greatest())
        sources = self._sources.get(owner)
        if sources is not None and sources[source] + 1 < sources.most:
            return self._idle(owner, sources.greatest())
        return None

    def _idle(self, owner: str, source: str) -> H:
        """The oldest idle connection; if none of those looked at is idle, the one that was last used first."""
        held = self._held[owner, source]
        found, longest = next(iter(held)), -1.0
        for candidate in list(islice(held, LOOKED_AT)):
            idle = candidate.idle()
            if idle >= IDLE_SECONDS:
                return candidate
            held[candidate] = held.pop(candidate)  # next time others are looked at
            if idle > longest:
                found, longest = candidate, idle
        return found
