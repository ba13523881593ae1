"""Whose the records of a zone are, by their ownership records. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from seamark.families.dns.rules import Rules
from seamark.providers.dns.model import Content, Part, Record, Slot
from seamark.providers.dns.txt import OWNER, RESOURCE


@dataclass(frozen=True, slots=True)
class Ownership:
    """What an ownership record says, and that record itself."""

    owner: str
    resource: str
    record: Record
    value: str  # which of the record's targets has it
    older: bool = False  # its name has no type, so it may be about several records


Owned = Mapping[Slot, Ownership]  # of one name; also of records that are not there


class Registry:
    """The ownerships of one zone, kept up with its content at the cost of what changed there.

    - `at` is by name; `of` is by the object that an ownership of ours names.
    - `strangers` counts ownership records with our own name that were not planned here.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._typed: dict[str, dict[Slot, Ownership]] = {}  # by the name that they are about
        self._untyped: dict[str, Ownership] = {}  # older ones, by their own name
        self._places: set[str] = set()  # where there are ownership records
        self._at: dict[str, dict[Slot, Ownership]] = {}
        self._of: dict[str, dict[Slot, None]] = {}
        self.strangers = 0
        self._planned: dict[str, set[str]] = {}  # by place: the values that we may have written there
        self._read_once = False
        self._strange = False

    def at(self, name: str) -> Owned:
        return self._at.get(name, {})

    def of(self, resource: str) -> Iterable[Slot]:
        """The records under our ownership that are this object's."""
        return self._of.get(resource, ())

    def older(self, name: str) -> Ownership | None:
        """The ownership record without a type that may be about records of this name."""
        place = self._rules.names.older(name, "A")
        return self._untyped.get(place) if place is not None else None

    def is_place(self, name: str) -> bool:
        """Whether there is an ownership record at this name."""
        return name in self._places

    def names(self) -> Iterable[str]:
        return self._at

    def follow(self, content: Content, changed: Iterable[str]) -> dict[str, None]:
        """What the server holds has changed at these names. Returns the names whose records or ownerships may have."""
        touched = dict.fromkeys(changed)
        if self._rules.registry != "txt":
            return touched
        self._strange = False
        for place in list(touched):
            touched.update(dict.fromkeys(self._read(place, content.at(place))))
        self.strangers += self._strange and self._read_once
        self._read_once = True
        for name in touched:
            self._settle(name, content)
        return touched

    def parts(self, slot: Slot, standing: Ownership | None, labels: Mapping[str, str] | None) -> tuple[Part, ...]:
        """How the ownership of a record changes; without labels it goes."""
        if self._rules.registry != "txt":
            return ()
        if labels is None:
            return (self._without(standing),) if standing is not None else ()
        value = self._rules.values.encode({**labels, OWNER: self._rules.owner})
        name = self._rules.names.of(slot[0], slot[1])
        self._planned.setdefault(name, set()).add(value)
        before = standing.record if standing is not None and not standing.older else None
        others = [one for one in before.targets if standing is None or one != standing.value] if before else []
        ttl = before.ttl if before else 0
        after = Record(name, "TXT", tuple(sorted({value, *others})), ttl, slot[2])
        return (Part(before, after),) if after != before else ()

    def _without(self, standing: Ownership) -> Part:
        others = tuple(one for one in standing.record.targets if one != standing.value)
        record = standing.record
        kept = Record(record.name, "TXT", others, record.ttl, record.set_identifier) if others else None
        return Part(record, kept)

    # ---- reading

    def _read(self, place: str, records: tuple[Record, ...]) -> Iterator[str]:
        """What an ownership record here says; names the names that it is, or was, about."""
        said = list(self._ownerships(records))
        if not said and place not in self._places:
            return
        (self._places.add if said else self._places.discard)(place)
        self._wonder(place, said)
        about = self._rules.names.owned(place)
        if about is not None:
            name, type_ = about
            typed = {slot: one for slot, one in self._typed.pop(name, {}).items() if slot[1] != type_}
            typed |= {(name, type_, one.record.set_identifier): one for one in said}
            if typed:
                self._typed[name] = typed
            yield name
        self._untyped.pop(place, None)
        if said and about is None:
            self._untyped[place] = replace(said[-1], older=True)
        yield from self._rules.names.younger(place)

    def _wonder(self, place: str, said: list[Ownership]) -> None:
        """Whether it was written by another process with our name. What existed before our start is a predecessor's."""
        planned = self._planned.setdefault(place, set()) if said else self._planned.pop(place, set())
        for one in said:
            if one.owner == self._rules.owner and one.value not in planned:
                self._strange = True
                planned.add(one.value)

    def _ownerships(self, records: tuple[Record, ...]) -> Iterator[Ownership]:
        for record in records:
            if record.type == "TXT":
                for value in record.targets:
                    if (labels := self._rules.values.decode(value)) is not None:
                        yield Ownership(labels.get(OWNER, ""), labels.get(RESOURCE, ""), record, value)

    def _settle(self, name: str, content: Content) -> None:
        for slot, ownership in self._at.pop(name, {}).items():
            if (slots := self._of.get(ownership.resource)) is not None:
                slots.pop(slot, None)
                if not slots:
                    del self._of[ownership.resource]
        found = [*self._typed.get(name, {}).items(), *self._older(name, content)]
        owned = dict(sorted(found, key=lambda one: one[0]))  # whatever order they were read in
        if owned:
            self._at[name] = owned
        for slot, ownership in owned.items():
            if self._rules.ours(ownership.owner):
                self._of.setdefault(ownership.resource, {})[slot] = None

    def _older(self, name: str, content: Content) -> Iterator[tuple[Slot, Ownership]]:
        if not self._untyped:
            return
        typed = self._typed.get(name, {})
        for record in content.at(name):
            place = self._rules.names.older(record.name, record.type)
            ownership = self._untyped.get(place) if place is not None else None
            if record.slot not in typed and ownership is not None and ownership.record is not record:
                yield record.slot, ownership
