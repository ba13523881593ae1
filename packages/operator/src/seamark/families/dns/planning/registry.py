"""The owners of the records of a zone, by their ownership records. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.endpoints import spellings
from seamark.providers.dns.model import Content, Part, Record, Slot
from seamark.providers.dns.txt import OWNER, PROPERTIES, RESOURCE, properties_of


@dataclass(frozen=True, slots=True)
class Ownership:
    """The content of an ownership record, and that record itself."""

    owner: str
    resource: str
    record: Record
    value: str  # which of the record's targets has it
    older: bool = False  # its name has no type, so it may be about several records
    properties: frozenset[str] = frozenset()  # the names of provider properties that we have set on the record


ALIAS = ("alias", "true")
Owned = Mapping[Slot, Ownership]  # of one name; also of records that are not there


class Registry:
    """The ownerships of one zone, kept up to date at the cost of what changed in its content.

    - `at` is by name; `of` is by the object that an ownership of ours names.
    - `foreign` counts the reads in which ownership records of our owner id appeared that were not planned here.
    - `parts` notes the values that it plans: those are ours when the server shows them.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._typed: dict[str, dict[Slot, Ownership]] = {}  # by the name that they are about
        self._untyped: dict[str, Ownership] = {}  # older ones, by their own name
        self._ownership_names: set[str] = set()  # names at which there are ownership records
        self._at: dict[str, dict[Slot, Ownership]] = {}
        self._of: dict[str, dict[Slot, None]] = {}
        self.foreign = 0
        self._planned: dict[str, set[str]] = {}  # by name of an ownership record: the values that we may have written
        self._read_once = False
        self._foreign_read = False  # by the read in progress

    def at(self, name: str) -> Owned:
        return self._at.get(name, {})

    def of(self, resource: str) -> Iterable[Slot]:
        """The records under our ownership that are this object's."""
        return self._of.get(resource, ())

    def older(self, name: str) -> Ownership | None:
        """The ownership record without a type that may be about records of this name."""
        at = self._rules.names.older(name, "A")
        return self._untyped.get(at) if at is not None else None

    def has_ownership_record(self, name: str) -> bool:
        return name in self._ownership_names

    def types_owned(self, name: str) -> set[str]:
        """The types of which there are ownership records, whatever has become of their records."""
        return {slot[1] for slot in (*self._at.get(name, ()), *self._typed.get(name, ()))}

    def names(self) -> Iterable[str]:
        return self._at

    def follow(self, content: Content, changed: Iterable[str]) -> dict[str, None]:
        """What the server holds has changed at these names. Returns the names whose records or ownerships may have."""
        touched = dict.fromkeys(changed)
        if self._rules.registry != "txt":
            return touched
        for name in list(touched):
            touched.update(dict.fromkeys(self._read(name, content.at(name))))
        touched.update(dict.fromkeys(filter(None, map(self._rules.names.other_owner, list(touched)))))
        self.foreign += self._foreign_read and self._read_once
        self._foreign_read = False
        self._read_once = True
        for name in touched:
            self._settle(name, content)
        return touched

    def parts(
        self,
        slot: Slot,
        standing: Ownership | None,
        labels: Mapping[str, str] | None,
        properties: tuple[tuple[str, str], ...] = (),
    ) -> tuple[Part, ...]:
        """How the ownership of a record changes; without labels it goes.

        It has the properties of its record, as with ExternalDNS: of several record sets of a name, some providers
        accept none without a weight. Not all providers keep them there, so a difference alone changes nothing.
        """
        if self._rules.registry != "txt":
            return ()
        if labels is None:
            return (self._without(standing),) if standing is not None else ()
        value = self._rules.values.encode({**labels, OWNER: self._rules.owner})
        name = self._rules.names.of(slot[0], slot[1])
        self._planned.setdefault(name, set()).add(value)
        before = standing.record if standing is not None and standing.record.name == name else None
        others = [target for target in before.targets if standing is None or target != standing.value] if before else []
        ttl = before.ttl if before else 0
        spelled = {**dict(before.spelled if before else ()), value: f'"{value}"'}
        targets = tuple(sorted({value, *others}))
        written = spellings("TXT", {target: spelled.get(target, target) for target in targets})
        after = Record(name, "TXT", targets, ttl, slot[2], properties, written)
        if before is not None and before.targets == targets and before.properties in ((), properties):
            return ()
        former = () if standing is None or standing.older or before is not None else (self._without(standing),)
        return (Part(before, after), *former)

    def _without(self, standing: Ownership) -> Part:
        others = tuple(target for target in standing.record.targets if target != standing.value)
        record = standing.record
        kept = replace(record, targets=others) if others else None
        return Part(record, kept)

    # ---- reading

    def _read(self, at: str, records: tuple[Record, ...]) -> Iterator[str]:
        """Takes in the ownership records at a name. Returns the names that they are, or were, about."""
        found = list(self._ownerships(records))
        if not found and at not in self._ownership_names:
            return
        (self._ownership_names.add if found else self._ownership_names.discard)(at)
        self._detect_foreign(at, found)
        about = self._rules.names.owners(at)
        for name, type_ in about:
            typed = {slot: known for slot, known in self._typed.pop(name, {}).items() if slot[1] != type_}
            typed |= {(name, type_, ownership.record.set_identifier): ownership for ownership in found}
            if typed:
                self._typed[name] = typed
            yield name
        self._untyped.pop(at, None)
        if found and not about:
            self._untyped[at] = replace(found[-1], older=True)
        yield from self._rules.names.younger(at)

    def _detect_foreign(self, at: str, found: list[Ownership]) -> None:
        """Whether another process with our owner id wrote it. What existed before our start is a predecessor's."""
        planned = self._planned.setdefault(at, set()) if found else self._planned.pop(at, set())
        for ownership in found:
            if ownership.owner == self._rules.owner and ownership.value not in planned:
                self._foreign_read = True
                planned.add(ownership.value)

    def _ownerships(self, records: tuple[Record, ...]) -> Iterator[Ownership]:
        for record in records:
            if record.type == "TXT":
                for value in record.targets:
                    if (labels := self._rules.values.decode(value)) is not None:
                        properties = properties_of(labels.get(PROPERTIES, ""))
                        owner, resource = labels.get(OWNER, ""), labels.get(RESOURCE, "")
                        yield Ownership(owner, resource, record, value, properties=properties)

    def _settle(self, name: str, content: Content) -> None:
        for slot, ownership in self._at.pop(name, {}).items():
            if (slots := self._of.get(ownership.resource)) is not None:
                slots.pop(slot, None)
                if not slots:
                    del self._of[ownership.resource]
        typed = self._typed.get(name, {})
        found = [*((slot, typed[slot]) for slot in typed if self._is_about(slot, content)), *self._older(name, content)]
        owned = dict(sorted(found, key=lambda entry: entry[0]))  # whatever order they were read in
        _attach_aliases(owned, content)
        if owned:
            self._at[name] = owned
        for slot, ownership in owned.items():
            if self._rules.ours(ownership.owner):
                self._of.setdefault(ownership.resource, {})[slot] = None

    def _is_about(self, slot: Slot, content: Content) -> bool:
        """Where two records have their ownership records at one name, it belongs to the wildcard if that exists."""
        name, type_, identifier = slot
        other = self._rules.names.other_owner(name)
        if other is None:
            return True
        if name.startswith("*."):
            return content.get(slot) is not None or content.get((other, type_, identifier)) is None
        return content.get(slot) is not None and content.get((other, type_, identifier)) is None

    def _older(self, name: str, content: Content) -> Iterator[tuple[Slot, Ownership]]:
        if not self._untyped:
            return
        typed = self._typed.get(name, {})
        for record in content.at(name):
            at = self._rules.names.older(record.name, record.type)
            ownership = self._untyped.get(at) if at is not None else None
            if record.slot not in typed and ownership is not None and ownership.record is not record:
                yield record.slot, ownership


def _attach_aliases(owned: dict[Slot, Ownership], content: Content) -> None:
    """An alias is listed as an A record. Before 0.22 ExternalDNS named its ownership record as that of a CNAME."""
    for slot in [slot for slot in owned if slot[1] == "CNAME"]:
        name, _, identifier = slot
        address = (name, "A", identifier)
        alias = content.get(address)
        if content.get(slot) is None and alias is not None and address not in owned and ALIAS in alias.properties:
            owned[address] = owned.pop(slot)
