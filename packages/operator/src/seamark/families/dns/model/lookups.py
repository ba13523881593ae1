"""What the authoritative name servers answered about the records of one zone, and which are to be asked for next.

No I/O, no clock. `Remote` writes what was answered, the memory of the zone what is wanted and that time has passed.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import NamedTuple

from seamark.providers.dns.model import Answered, QueryResults, Record

BATCH = 500  # records that are asked for by one call
REST = 50.0  # records a second that are asked for at rest: with more of them the interval stretches
SHELF = 3.0  # intervals for which an answer is valid
TOGETHER = 0.05  # of an interval: what is due within that is asked for at once
SETTLING = 0.75  # intervals in which a new record may reach all servers
FIRST_RETRY = 1.0  # seconds before a record that is answered otherwise is asked for again, doubled each time
SILENT_RETRY = 5.0  # seconds before a server that does not respond is asked again
OUTDATED = 16  # outdated entries of the heap that are kept in any case


class Standing(enum.Enum):
    """What is known of a record: SERVED is what every authoritative server answers."""

    SERVED = "Served"
    DIFFERS = "Differs"
    SETTLING = "Settling"  # it differs, and is new
    NOT_COMPARABLE = "NotComparable"
    NO_SERVER = "NoServer"
    EXPIRED = "Expired"
    NOT_QUERIED = "NotQueried"


class Shown(NamedTuple):
    standing: Standing
    message: str = ""


NOT_QUERIED = Shown(Standing.NOT_QUERIED, "the name servers have not been asked for it yet")
NO_SERVER = Shown(Standing.NO_SERVER, "no name server serves it")
SERVED = Shown(Standing.SERVED)


@dataclass(slots=True)
class _Entry:
    """A record that the zone holds as wanted. `at`: when it was answered (`moment` for people); `due`: ask again."""

    first: float
    due: float
    answer: Answered | None = None
    at: float = 0.0
    moment: str = ""
    unserved: bool = False
    differed: int = 0  # answers in a row that differ
    was_served: bool = False
    expired: bool = False


@dataclass(frozen=True)
class Silence:
    """Servers that do not respond: since when, and how that shows."""

    since: str
    servers: Mapping[str, str]

    @property
    def message(self) -> str:
        listed = "; ".join(f"{server}: {why}" for server, why in sorted(self.servers.items()))
        return f"a name server does not respond since {self.since} ({listed})"


@dataclass
class Lookups:
    """The answers about one zone.

    - `want` sets which records of a name are to be answered; anything else about the name is forgotten.
    - `changed`: names of which something else is shown than before; the ledger takes them out.
    - `batch`: the records that are being asked for, with a `number` of its own; the same until they are answered.
    """

    interval: float
    changed: dict[str, None] = field(default_factory=dict)
    silence: Silence | None = None
    batch: tuple[Record, ...] = ()
    number: int = 0
    _entries: dict[Record, _Entry] = field(default_factory=dict)
    _by_name: dict[str, tuple[Record, ...]] = field(default_factory=dict)
    _heap: list[tuple[float, int, Record]] = field(default_factory=list)  # by `due`; outdated ones are skipped or swept
    _pushed: int = 0
    _due: dict[Record, None] = field(default_factory=dict)  # to be asked for now
    _early: dict[Record, tuple[Answered, float, str]] = field(default_factory=dict)  # answered before it was wanted
    _silent_until: float = 0.0

    @property
    def stretched(self) -> float:
        """Seconds between two questions about a record."""
        return max(self.interval, len(self._entries) / REST)

    @property
    def shelf_life(self) -> float:
        return SHELF * self.stretched

    def want(self, name: str, records: Sequence[Record], now: float) -> None:
        before = self._by_name.get(name, ())
        after = tuple(records)
        if before == after:
            return
        for record in before:
            if record not in after:
                self._entries.pop(record, None)
                self._due.pop(record, None)
        for record in after:
            if record not in self._entries:
                self._entries[record] = _Entry(now, now)
                self._due[record] = None
                if early := self._early.get(record):
                    self._put(record, *early)
        if after:
            self._by_name[name] = after
        else:
            self._by_name.pop(name, None)
        self.changed[name] = None
        self._sweep()

    def answered(self, records: Sequence[Record], found: QueryResults, now: float, moment: str) -> None:
        """What came of asking for these. A record about which nothing is known yet stays due."""
        if tuple(records) == self.batch:
            self.batch = ()
        if found.silent:
            since = self.silence.since if self.silence is not None else moment
            self.silence = Silence(since, dict(found.silent))
            self._silent_until = now + SILENT_RETRY
        elif found.answers or found.unserved:
            self.silence = None
        self._early = {}
        for record, answer in found.answers.items():
            if record in self._entries:
                self._put(record, answer, now, moment)
            else:
                self._early[record] = (answer, now, moment)
        for record in found.unserved:
            if (entry := self._entries.get(record)) is not None:
                entry.unserved = True
                self._ask_at(record, entry, now + self.stretched)
                self.changed[record.name] = None

    def pass_time(self, now: float) -> None:
        """Records become due, answers expire, and a batch is put together where none is on its way."""
        self._take_due(now)
        for record in self._due:
            entry = self._entries[record]
            if entry.answer is not None and not entry.expired and entry.at + self.shelf_life <= now:
                entry.expired = True
                self.changed[record.name] = None
        if self._due and not self.batch and (self.silence is None or now >= self._silent_until):
            self.batch = tuple(islice(self._due, 1 if self.silence is not None else BATCH))
            self.number += 1

    def _take_due(self, now: float) -> None:
        """At rest, what is due soon is asked, too. What is answered otherwise waits until it is due."""
        ahead = now + TOGETHER * self.stretched
        early = []
        while self._heap and self._heap[0][0] <= ahead:
            due, number, record = heappop(self._heap)
            entry = self._entries.get(record)
            if entry is None or entry.due != due:
                continue
            if due > now and entry.differed:
                early.append((due, number, record))
            else:
                self._due[record] = None
        for waiting in early:
            heappush(self._heap, waiting)

    @property
    def next(self) -> float:
        """When something happens by itself: a record becomes due, an answer expires, a silent server is tried."""
        times = [self._heap[0][0]] if self._heap else []
        for record in self._due:
            entry = self._entries[record]
            if entry.answer is not None and not entry.expired:
                times.append(entry.at + self.shelf_life)
        if self._due and not self.batch and self.silence is not None:
            times.append(self._silent_until)
        return min(times, default=float("inf"))

    def shown(self, record: Record | None) -> Shown:
        entry = self._entries.get(record) if record is not None else None
        if entry is None or (entry.answer is None and not entry.unserved):
            return NOT_QUERIED
        if entry.unserved or entry.answer is None:
            return NO_SERVER
        if entry.expired:
            return Shown(Standing.EXPIRED, f"the name servers have not answered for it since {entry.moment}")
        answer = entry.answer
        if answer.served:
            return SERVED
        if not answer.comparable:
            return Shown(Standing.NOT_COMPARABLE, answer.message)
        settling = not entry.was_served and entry.at < entry.first + SETTLING * self.interval
        return Shown(Standing.SETTLING if settling else Standing.DIFFERS, answer.message)

    def _put(self, record: Record, answer: Answered, now: float, moment: str) -> None:
        entry, before = self._entries[record], self.shown(record)
        entry.answer, entry.at, entry.moment = answer, now, moment
        entry.expired = entry.unserved = False
        if answer.served or not answer.comparable:
            entry.differed = 0
            entry.was_served = entry.was_served or answer.served
            pause = self.stretched
        else:
            pause = min(self.stretched, FIRST_RETRY * 2.0 ** min(entry.differed, 10))
            entry.differed += 1
        self._ask_at(record, entry, now + pause)
        if self.shown(record) != before:
            self.changed[record.name] = None

    def _ask_at(self, record: Record, entry: _Entry, due: float) -> None:
        entry.due = due
        self._due.pop(record, None)
        self._pushed += 1
        heappush(self._heap, (due, self._pushed, record))
        self._sweep()

    def _sweep(self) -> None:
        """Outdated entries of the heap leave once they outnumber the records: linear, and rare."""
        if len(self._heap) > 2 * len(self._entries) + OUTDATED:
            self._heap = [entry for entry in self._heap if self._is_valid(*entry)]
            heapify(self._heap)

    def _is_valid(self, due: float, _number: int, record: Record) -> bool:
        entry = self._entries.get(record)
        return entry is not None and entry.due == due
