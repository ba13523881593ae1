"""Whose the records of a zone are, by their ownership records. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from seamark.families.dns.rules import Rules
from seamark.providers.dns.model import Content, Part, Record, Slot
from seamark.wire.txt import OWNER, RESOURCE, Values


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
        names, values = self._rules.names, self._rules.values
        typed: dict[Slot, Ownership] = {}
        untyped: dict[str, Ownership] = {}
        for record in content:
            if record.type != "TXT":
                continue
            for value in record.targets:
                if (labels := decoded(values, value)) is None:
                    continue
                ownership = Ownership(labels.get(OWNER, ""), labels.get(RESOURCE, ""), record, value)
                if (about := names.owned(record.name)) is not None:
                    typed[(*about, record.set_identifier)] = ownership
                else:
                    untyped[record.name] = replace(ownership, older=True)
        return self._with_older(content, typed, untyped) if untyped else typed

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


@lru_cache(maxsize=100_000)
def decoded(values: Values, value: str) -> Mapping[str, str] | None:
    return values.decode(value)
