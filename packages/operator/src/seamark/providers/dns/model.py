"""Records, changes of them, and what a provider must be able to do.

- A `Record` is an RRset in one spelling: names in lower case, as A-labels, without a trailing dot; targets canonical
  and sorted. Two records that mean the same are equal.
- A `Change` is applied wholly or not at all where the provider can; its parts are the record and its ownership.
- A `Content` is what the server holds of a zone at one serial. It is replaced, never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from seamark.providers.dns.layered import Layered
from seamark_runtime.errors import Refused, Retry
from seamark_runtime.journal import Journal


@dataclass(frozen=True, slots=True)
class Record:
    """An RRset. A ttl of 0 means: not set.

    `spelled`: targets as they were written, where that is not how they are written to a webhook provider anyway. Some
    providers want a text in quotes and others without, and some delete only what is named in their own spelling.
    """

    name: str
    type: str
    targets: tuple[str, ...]
    ttl: int = 0
    set_identifier: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    spelled: tuple[tuple[str, str], ...] = ()

    def means(self, other: Record | None) -> bool:
        """Whether it is the same record, in whatever spelling."""
        return other is not None and replace(self, spelled=()) == replace(other, spelled=())

    @property
    def slot(self) -> Slot:
        return (self.name, self.type, self.set_identifier)

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


Slot = tuple[str, str, str]  # name, type, set identifier


@dataclass(frozen=True, slots=True)
class Part:
    """One RRset before and after; None for not there. `without`: properties that it must not have any more."""

    before: Record | None
    after: Record | None
    without: frozenset[str] = frozenset()

    def ownership_of(self, change: Change) -> bool:
        """Whether it is the ownership record of the record that the change is known by."""
        return self.record.type == "TXT" and self.record.slot != change.slot

    @property
    def record(self) -> Record:
        found = self.after or self.before
        assert found is not None, "a part is about a record"
        return found


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to a record: the record first, then its ownership. `slot` is what it is known by."""

    slot: Slot
    parts: tuple[Part, ...]

    @property
    def verb(self) -> str:
        first = self.parts[0]
        return "create" if first.before is None else "delete" if first.after is None else "update"

    def __str__(self) -> str:
        return f"{self.verb} {self.slot[0]} {self.slot[1]}"


@dataclass(frozen=True, eq=False)
class Content:
    """All records of a zone, by name and then type. Compared by identity: each change makes a new one.

    Contents that were made of each other share a journal, so that two of them can be compared.
    """

    zone: str
    serial: int
    names: Mapping[str, tuple[Record, ...]] = field(repr=False)
    journal: Journal[str] = field(default_factory=Journal, repr=False)
    mark: int = 0

    def at(self, name: str) -> tuple[Record, ...]:
        return self.names.get(name, ())

    def get(self, slot: Slot) -> Record | None:
        return next((record for record in self.at(slot[0]) if record.slot == slot), None)

    def __iter__(self) -> Iterator[Record]:
        for records in self.names.values():
            yield from records

    def amended(self, serial: int, changed: Mapping[str, tuple[Record, ...]]) -> Content:
        """With these names as they are now; nothing at a name takes it away."""
        names = self.names.copy() if isinstance(self.names, Layered) else Layered(self.names)
        for name, records in changed.items():
            if records == self.at(name):
                continue
            self.journal.note(name)
            if records:
                names[name] = records
            else:
                names.pop(name, None)
        return Content(self.zone, serial, names, self.journal, self.journal.mark)

    def replaced(self, serial: int, names: Mapping[str, tuple[Record, ...]]) -> Content:
        """With these names and no others."""
        gone: dict[str, tuple[Record, ...]] = {name: () for name in self.names if name not in names}
        return self.amended(serial, {**gone, **names})

    def since(self, known: Content | None) -> Iterable[str]:
        """The names at which it may differ from one that was known before."""
        if known is self:
            return ()
        if known is not None and known.journal is self.journal:
            changed = self.journal.since(known.mark)
            if changed is not None:
                return changed
        return dict.fromkeys([*self.names, *(known.names if known is not None else ())])


class Moved(Retry):
    """What was to be changed is not as it was read: another writer has changed it."""


class Unwritable(Retry):
    """The zone accepts no change at all, of any record. With the server's error."""


class RecordRefused(Refused):
    """The server applied none of these changes. `only`: those that are the cause; without it, any of them may be."""

    def __init__(self, message: str, *, reason: str = "", only: Iterable[Slot] = ()) -> None:
        super().__init__(message, reason=reason)
        self.only = frozenset(only)


class NoResponse(Retry):
    """The server can't be reached or does not respond: what it serves is not known."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What the authoritative servers answer about a record: exactly it, or (`message`) what else and which server.

    Not `comparable`: they answer something, and the provider's properties decide what that should be.
    """

    served: bool
    comparable: bool = True
    message: str = ""


@dataclass(frozen=True, slots=True)
class QueryResults:
    """The answers about records. A record about which not all servers have answered has none.

    `silent`: servers that do not respond, and how that shows. `unserved`: records for which no server is known.
    """

    answers: Mapping[Record, Answered]
    silent: Mapping[str, str] = field(default_factory=dict)
    unserved: tuple[Record, ...] = ()


class Querier(Protocol):
    """Asks the authoritative name servers for records, as a resolver would. It does not raise."""

    async def ask(self, content: Content, records: Sequence[Record]) -> QueryResults: ...


class Provider(Protocol):
    """A way to some zones.

    - `read` answers with everything that the server holds, or raises: never with a part of it. While nothing has
      changed it answers with the same Content.
    - `apply` raises `RecordRefused` or `Moved` about these changes, `Unwritable` or `Retry` about the zone.
    - `weigh` is how much of a batch a change takes up, of 1.0.
    - `querier`: how its name servers are asked; None where no name server serves its zones.
    - `adjust`, where a provider `adjusts`: records as it would rather have them. What it leaves out, it does not take.
    """

    @property
    def zones(self) -> tuple[str, ...]: ...

    @property
    def set_identifiers(self) -> bool: ...

    @property
    def adjusts(self) -> bool: ...

    @property
    def querier(self) -> Querier | None: ...

    async def read(self, zone: str) -> Content: ...

    async def adjust(self, records: Sequence[Record]) -> list[Record]: ...

    async def apply(self, zone: str, changes: Sequence[Change]) -> None: ...

    def weigh(self, change: Change) -> float: ...

    async def close(self) -> None: ...


def zone_of(name: str, zones: Sequence[str]) -> str | None:
    """The longest of the zones that the name is in, at a label boundary; "" is the zone of everything."""
    labels = name.split(".")
    for start in range(len(labels) + 1):
        if (candidate := ".".join(labels[start:])) in zones:
            return candidate
    return None
