"""How many connections one source, and all sources together, may hold at a kind of port, and how many begin at once.

- A connection takes a slot when it is accepted and gives it back when it ends; nothing else counts it meanwhile.
- A source is an IPv4 address, or the /64 network of an IPv6 address: a host has all addresses of its network.
- Each kind of port has a limit of its own: clients that fill theirs keep no agent and no caller of the API out.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from itertools import islice

NETWORK = 64  # bits of an IPv6 address that name its network
LOOKED_AT = 512  # sources among which the one with the most unproven connections is looked for


@lru_cache(maxsize=4096)
def source_of(address: str) -> str:
    """Who an address belongs to, as far as limits go."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.IPv6Network((ip, NETWORK), strict=False))


class Slot:
    """The right to one connection. `release` gives it back, once.

    - `close` ends the connection; the code that owns the connection sets it. It is called only before `prove`.
    - `start` is called before the connection costs memory (its TLS handshake, its first request), `prove` when its
      client has shown that it may be here.
    """

    __slots__ = ("_limit", "close", "number", "source")

    def __init__(self, limit: ConnectionLimit, source: str, number: int) -> None:
        self._limit: ConnectionLimit | None = limit
        self.source = source
        self.number = number  # later slots have greater ones
        self.close: Callable[[], None] = _nothing

    @property
    def released(self) -> bool:
        return self._limit is None

    def start(self) -> None:
        if self._limit is not None:
            self._limit.start(self)

    def prove(self) -> None:
        if self._limit is not None:
            self._limit.prove(self)

    def release(self) -> None:
        limit, self._limit = self._limit, None
        if limit is not None:
            limit.give_back(self)


def _nothing() -> None:
    pass


class _Pending:
    """Slots of connections that are not proven, by source."""

    def __init__(self) -> None:
        self.count = 0  # the sum over `_sources`
        self._sources: dict[str, dict[Slot, None]] = {}  # only sources with slots; the oldest slot first

    def add(self, slot: Slot) -> None:
        self._sources.setdefault(slot.source, {})[slot] = None
        self.count += 1

    def discard(self, slot: Slot) -> None:
        slots = self._sources.get(slot.source, {})
        if slot in slots:
            del slots[slot]
            self.count -= 1
            if not slots:
                del self._sources[slot.source]

    def oldest_of(self, source: str) -> Slot | None:
        return next(iter(self._sources.get(source, ())), None)

    def oldest(self) -> Slot | None:
        """The oldest slot of the source that has the most, among `LOOKED_AT` sources: the work is bounded."""
        some = islice(self._sources.items(), LOOKED_AT)
        firsts = ((len(slots), -next(iter(slots)).number, source) for source, slots in some)
        found = max(firsts, default=None)
        return self.oldest_of(found[2]) if found else None


class ConnectionLimit:
    """Slots for the connections of one kind of port.

    - A connection is unproven until its TLS handshake is done, its agent has authenticated, or its request has a valid
      key, whichever the port asks for.
    - Where a limit is reached, the oldest unproven connection of the source that has the most of them is closed. Only
      where there is none the new connection is refused: anonymous clients do not lock out authenticated ones.
    - At most `unproven` connections are started and not proven.
    """

    def __init__(self, per_source: int, total: int, unproven: int) -> None:
        self.per_source = per_source
        self.total = total
        self.unproven = unproven
        self.held = 0  # the sum of `_sources`
        self._sources: dict[str, int] = {}  # only sources with connections
        self._pending = _Pending()  # all that are not proven
        self._started = _Pending()  # those of `_pending` that are started
        self._number = 0

    def take(self, address: str) -> Slot | None:
        """A slot for a connection from this address; None if its source, or the port, has none left."""
        source = source_of(address)
        if self._sources.get(source, 0) >= self.per_source and not _closed(self._pending.oldest_of(source)):
            return None
        if self.held >= self.total and not _closed(self._pending.oldest()):
            return None
        self._sources[source] = self._sources.get(source, 0) + 1
        self.held += 1
        self._number += 1
        slot = Slot(self, source, self._number)
        self._pending.add(slot)
        return slot

    def start(self, slot: Slot) -> None:
        if self._started.count >= self.unproven:
            _closed(self._started.oldest())
        self._started.add(slot)

    def prove(self, slot: Slot) -> None:
        self._pending.discard(slot)
        self._started.discard(slot)

    def give_back(self, slot: Slot) -> None:
        self.prove(slot)
        self.held -= 1
        left = self._sources.pop(slot.source) - 1
        if left:
            self._sources[slot.source] = left


def _closed(slot: Slot | None) -> bool:
    """Close the connection of this slot; False if there is none."""
    if slot is None:
        return False
    slot.release()
    slot.close()
    return True


class Pacer:
    """Spreads work that arrives all at once over turns of the event loop: others are served between them."""

    def __init__(self, per_turn: int) -> None:
        self._per_turn = per_turn
        self._waiting: deque[Callable[[], None]] = deque()
        self._scheduled = False  # True while something waits

    def add(self, start: Callable[[], None]) -> None:
        self._waiting.append(start)
        self._schedule()

    def _schedule(self) -> None:
        if self._waiting and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        turn = [self._waiting.popleft() for _ in range(min(self._per_turn, len(self._waiting)))]
        self._schedule()
        for start in turn:
            start()


def within(total: int, files: int, share: float) -> int:
    """The total that a setting asks for, or the share of the open files that this process may have, if that is less."""
    return min(total, max(1, int((files - 64) * share))) if files > 64 else total
