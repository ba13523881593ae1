"""How many connections one source, and all sources together, may hold at a kind of port, and how many begin at once.

- A connection takes a slot when it is accepted and gives it back when it ends; nothing else counts it meanwhile.
- A source is an IPv4 address, or the /64 network of an IPv6 address: a host has all addresses of its network.
- Each kind of port has a limit of its own: clients that fill theirs keep no agent and no caller of the API out.
- Connections to endpoints have an owner, that of the endpoint. When no slot is free, owners get equal shares.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from itertools import islice

import structlog

from seamark_edge.edge.holders import Holders

log = structlog.get_logger(__name__)

NETWORK = 64  # bits of an IPv6 address that name its network
KEPT_FREE = 10  # one slot in so many is for connections whose owner is not known yet
EPISODE = 60.0  # seconds for which a limit that was reached counts as reached
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

    - `close` ends the connection; the code that owns the connection sets it. It is not called after `prove`.
    - `start` is called before the connection costs memory (its TLS handshake, its first request), `prove` when its
      client has shown that it may be here.
    - `admit` is the `prove` of a connection to an endpoint. It may be closed in favour of another owner's, or another
      source's; `idle` says for how many seconds it had no traffic.
    """

    __slots__ = ("_limit", "close", "idle", "number", "owner", "source")

    def __init__(self, limit: ConnectionLimit, source: str, number: int) -> None:
        self._limit: ConnectionLimit | None = limit
        self.source = source
        self.number = number  # later slots have greater ones
        self.owner = ""  # known from `admit` on
        self.close: Callable[[], None] = _nothing
        self.idle: Callable[[], float] = _always

    @property
    def released(self) -> bool:
        return self._limit is None

    def start(self) -> None:
        if self._limit is not None:
            self._limit.start(self)

    def prove(self) -> None:
        if self._limit is not None:
            self._limit.prove(self)

    def admit(self, owner: str) -> bool:
        """False if no slot is free for another connection of this owner from this source."""
        return self._limit is not None and self._limit.admit(self, owner)

    def release(self) -> None:
        limit, self._limit = self._limit, None
        if limit is not None:
            limit.give_back(self)


def _nothing() -> None:
    pass


def _always() -> float:
    return float("inf")


def _uncounted(_: str) -> None:
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
    - At most `capacity` connections are to endpoints; the rest of the total lets in those that do not name theirs
      yet. Where no slot is free, a new one of an owner with fewer than the largest holder is let in, and the oldest
      idle connection of the largest holder is closed. Within an owner the same holds for sources.
    - `count` is called with each connection that was "displaced" or "refused" because the total was reached.
    """

    def __init__(
        self,
        per_source: int,
        total: int,
        unproven: int,
        *,
        port: str = "",
        count: Callable[[str], None] = _uncounted,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.capacity = total - (max(1, min(unproven, total // KEPT_FREE)) if total > 1 else 0)
        self.port = port  # which kind of port this is, for the log
        self._count = count
        self._now = now
        self._reached_at = float("-inf")  # when the total, or the capacity, was last too small
        self._holders: Holders[Slot] = Holders()  # those with an owner
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
            self._reached("refused")
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

    def admit(self, slot: Slot, owner: str) -> bool:
        if self._holders.count >= self.capacity:
            found = self._holders.giving_way(owner, slot.source)
            self._reached("refused" if found is None else "displaced")
            if not _closed(found):
                return False
        self.prove(slot)
        slot.owner = owner
        self._holders.add(slot)
        return True

    @property
    def reached(self) -> bool:
        """Whether connections had to be closed or refused lately, because all that there may be were open."""
        return self._now() - self._reached_at < EPISODE

    def _reached(self, outcome: str) -> None:
        if not self.reached:  # one line for each episode
            log.warning(
                "the limit of connections is reached: idle ones of the largest holder are closed, or new ones refused",
                port=self.port,
                limit=self.total,
            )
        self._reached_at = self._now()
        self._count(outcome)

    def give_back(self, slot: Slot) -> None:
        self.prove(slot)
        self._holders.discard(slot)
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
