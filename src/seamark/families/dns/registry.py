"""Whose the records of a zone are, by their ownership records. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from seamark.families.dns.rules import Rules
from seamark.providers.dns.model import Content, Part, Record, Slot
from seamark.wire.txt import OWNER, RESOURCE


@dataclass(frozen=True, slots=True)
class Ownership:
    """What an ownership record says, and that record itself."""

    owner: str
    resource: str
    record: Record
    value: str  # which of the record's targets says so
    older: bool = False  # its name has no type, so it may be about several records


class Registry:
    """The ownerships of one zone. What the server holds is read once for each content."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._content: Content | None = None
        self._owned: dict[Slot, Ownership] = {}
        self._said: dict[str, tuple[tuple[Record, ...], list[Ownership]]] = {}  # by name, with what was read

    def owned(self, content: Content) -> Mapping[Slot, Ownership]:
        """By record; also those whose record is not there."""
        if self._content is not content:
            self._owned = self._read(content) if self._rules.registry == "txt" else {}
            self._content = content
        return self._owned

    def parts(self, slot: Slot, standing: Ownership | None, labels: Mapping[str, str] | None) -> tuple[Part, ...]:
        """How the ownership of a record changes; without labels it goes."""
        if self._rules.registry != "txt":
            return ()
        if labels is None:
            return (self._without(standing),) if standing is not None else ()
        value = self._rules.values.encode({**labels, OWNER: self._rules.owner})
        name = self._rules.names.of(slot[0], slot[1])
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

    def _read(self, content: Content) -> dict[Slot, Ownership]:
        """What a name said before is not read again while its records are the same."""
        names = self._rules.names
        typed: dict[Slot, Ownership] = {}
        untyped: dict[str, Ownership] = {}
        before, self._said = self._said, {}
        for name, records in content.names.items():
            known = before.get(name)
            said = known[1] if known is not None and known[0] is records else list(self._ownerships(records))
            self._said[name] = (records, said)
            for ownership in said:
                if (about := names.owned(name)) is not None:
                    typed[(*about, ownership.record.set_identifier)] = ownership
                else:
                    untyped[name] = replace(ownership, older=True)
        return self._with_older(content, typed, untyped) if untyped else typed

    def _ownerships(self, records: tuple[Record, ...]) -> Iterator[Ownership]:
        for record in records:
            if record.type == "TXT":
                for value in record.targets:
                    if (labels := self._rules.values.decode(value)) is not None:
                        yield Ownership(labels.get(OWNER, ""), labels.get(RESOURCE, ""), record, value)

    def _with_older(
        self, content: Content, typed: dict[Slot, Ownership], untyped: Mapping[str, Ownership]
    ) -> dict[Slot, Ownership]:
        for record in content:
            if record.slot in typed:
                continue
            place = self._rules.names.older(record.name, record.type)
            ownership = untyped.get(place) if place is not None else None
            if ownership is not None and ownership.record is not record:
                typed[record.slot] = ownership
        return typed
