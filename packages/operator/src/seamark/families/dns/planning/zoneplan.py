"""The plan of a whole zone, kept up to date at the cost of what changed. No I/O."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Hashable, Iterator, Mapping
from itertools import islice
from typing import Any

from seamark.families.dns.model.desired import CUTS
from seamark.families.dns.model.entries import CRD, Ref
from seamark.families.dns.model.responses import Adjusted
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.claims import AtName, Claim, Name, NamePlan, ObjectClaims
from seamark.families.dns.planning.cuts import Cuts
from seamark.families.dns.planning.dependents import Dependents
from seamark.families.dns.planning.forms import ALIASED
from seamark.families.dns.planning.nameholders import NameHolders
from seamark.families.dns.planning.orphans import Orphans
from seamark.families.dns.planning.ownershipnames import OwnershipNames
from seamark.families.dns.planning.plan import Planner
from seamark.families.dns.planning.registry import Owned, Ownership, Registry
from seamark.families.dns.planning.tenancy import Tenancy
from seamark.providers.dns.model import Change, Content, Record, Slot

NOTHING = NamePlan()
AT_ONCE = 200


class ZonePlan:
    """What is to be done in a zone, for all claims.

    - A name is planned anew when something about it has changed, and only then. The plan is the same as one that is
      made from nothing.
    - At most `most` names are planned by one `follow`, so that a large change delays other work only briefly. A name
      in the `backlog` has no plan: its former plan is void.
    - A name that was released lately is kept for its namespace: until `next_end` nothing changes by itself.
    - What an object had that is gone, without having been deleted in our sight, is kept for the rules' grace; what one
      has that can't be read, until it is readable or gone.
    - Of a source that is not `populated`, nothing is deleted: one that is empty from the start may be the wrong one.
    """

    def __init__(self, zone: str, rules: Rules) -> None:
        self._zone = zone
        self._rules = rules
        self.registry = Registry(rules)
        self._planner = Planner(rules, self.registry)
        self._holders = NameHolders(zone, rules, self._at_taken)
        self._ownership_names = OwnershipNames(rules, self.registry)
        self._tenancy = Tenancy(rules)
        self._cuts = Cuts(zone, rules)
        self._dependents = Dependents()
        self._orphans = Orphans(rules.sweep_grace)
        self._populated: frozenset[str] = frozenset()
        self.unreadable: frozenset[Ref] = frozenset()  # objects that exist and can't be read; set before `follow`
        self._not_read: frozenset[Ref] = frozenset()  # the same, as of the last `follow`
        self.adjusted: Adjusted | None = None  # None where the provider takes records as they are
        self.to_adjust: dict[str, tuple[Record, ...]] = {}  # by name, what the provider has to adjust first
        self._objects: dict[Ref, ObjectClaims] = {}
        self._claims: dict[str, dict[Ref, list[Claim]]] = {}  # by name, then by object
        self._held_refs: Tally[Ref] = Tally()
        self._held_slots: Tally[Slot] = Tally()
        self._deleting: dict[str, Tally[tuple[Slot, Ref]]] = {}  # by name
        self._names: dict[str, NamePlan] = {}
        self.backlog: dict[str, None] = {}  # names that are still to be planned
        self.content: Content | None = None
        self.pending: dict[str, tuple[Change, ...]] = {}  # by name, where there is something to do
        self.at: dict[Slot, Change] = {}  # the change that each record is part of
        self.held: Tally[str] = Tally()  # records on the server, by type
        self.in_place: Tally[str] = Tally()  # claims whose records are on the server, by type

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(change for changes in self.pending.values() for change in changes)

    @property
    def next_end(self) -> float:
        """When names become free by themselves, and what objects had that are gone is deleted."""
        return min(self._tenancy.next_end, self._orphans.next_end)

    def name(self, name: str) -> NamePlan:
        return self._names.get(name, NOTHING)

    def left(self, claimed: ObjectClaims) -> bool:
        """Whether something of this object is on the server."""
        if self._rules.registry == "txt":
            return any(True for _ in self.registry.of(claimed.ref.resource))
        return any(slot[0] in self.backlog or slot in self.name(slot[0]).lingering for slot in claimed.deleting)

    def follow(
        self,
        content: Content | None,
        changed: Mapping[Ref, ObjectClaims | None],
        populated: frozenset[str],
        now: float = 0.0,
        most: int = AT_ONCE,
    ) -> dict[str, None]:
        """These objects have changed, and this is what the server holds. Returns the names that were planned anew."""
        freed = self._tenancy.pass_time(now, known=content is not None)
        touched = dict.fromkeys([*freed, *self._swept(now)])
        for ref, claimed in changed.items():
            touched.update(dict.fromkeys(self._replace(ref, claimed)))
        if content is not None:
            touched.update(self._read(content))
        if populated != self._populated:
            self._populated = populated
            touched.update(dict.fromkeys(self.registry.names()))
        touched.update(dict.fromkeys(self._read_otherwise()))
        touched.update(dict.fromkeys(self._adjusted_anew()))
        for name in list(touched):
            if (given_up := self._note_holder(name)) is not None:
                touched[given_up] = None
        touched.update(dict.fromkeys(filter(None, map(self._ownership_names.other_owner, list(touched)))))
        touched.update(self._holders.note(list(touched)))
        for name in list(touched):
            touched.update(dict.fromkeys(self._dependents.planned_by(name)))
        for name in list(touched) if self._cuts.active else ():
            touched.update(dict.fromkeys(self._cuts.note(name, self._at_name(name))))
        for name in touched:
            self._drop(name)
        self.backlog.update(touched)
        return self._plan_backlog(most)

    def _plan_backlog(self, most: int) -> dict[str, None]:
        """Nothing is planned before it is known what the server holds."""
        content = self.content
        if content is None:
            return {}
        planned = dict.fromkeys(islice(self.backlog, most))
        for name in planned:
            del self.backlog[name]
            self._plan(name, content)
        self._forget_unwanted(planned)
        return planned

    # ---- how the provider adjusts records

    def _adjusted_anew(self) -> Iterator[str]:
        """Names about which the provider has answered since they were planned, or has to be asked again."""
        known = self.adjusted
        if known is None:
            return
        for name, records in self.to_adjust.items():
            if any(record in known and record not in known.expired for record in records):
                yield name
        for record in known.expired:
            if record not in self.to_adjust.get(record.name, ()):
                yield record.name

    def _forget_unwanted(self, planned: Mapping[str, None]) -> None:
        """An expired response about a record that is not wanted any more is not requested again."""
        known = self.adjusted
        for record in list(known.expired) if known is not None else ():
            if known is not None and record.name in planned and record not in self.to_adjust.get(record.name, ()):
                known.forget(record)

    # ---- which objects concern the zone

    def _replace(self, ref: Ref, after: ObjectClaims | None) -> Iterator[str]:
        before = self._objects.get(ref)
        if before == after:
            return
        for claimed, sign in ((before, -1), (after, 1)):
            if claimed is not None:
                yield from self._count(claimed, sign)
        if after is not None:
            self._objects[ref] = after
            if self._orphans.found(ref.resource):
                yield from [slot[0] for slot in self.registry.of(ref.resource)]
        else:
            del self._objects[ref]
            if ref.source != CRD and ref not in self.unreadable:
                self._orphans.deleted(ref.resource)  # without a finalizer its deletion is all there is to see

    def _count(self, claimed: ObjectClaims, sign: int) -> Iterator[str]:
        ref = claimed.ref
        for claim in claimed.claims:
            name = claim.record.name
            if sign > 0:
                self._claims.setdefault(name, {}).setdefault(ref, []).append(claim)
            elif (claims := self._claims.get(name)) is not None:
                claims.pop(ref, None)
                if not claims:
                    del self._claims[name]
            yield name
        if claimed.held:
            _count(self._held_refs, ref, sign)
            yield from [slot[0] for slot in self.registry.of(ref.resource)]
        for slot in claimed.slots:
            _count(self._held_slots, slot, sign)
            yield slot[0]
        for slot in claimed.deleting:
            deleting = self._deleting.setdefault(slot[0], Tally())
            _count(deleting, (slot, ref), sign)
            if not deleting:
                del self._deleting[slot[0]]
            yield slot[0]

    def _read_otherwise(self) -> Iterator[str]:
        """The names of records of objects that can't be read any more, or are not unreadable any more."""
        before, self._not_read = self._not_read, self.unreadable
        for ref in before ^ self.unreadable:
            self._orphans.found(ref.resource)
            yield from [slot[0] for slot in self.registry.of(ref.resource)]

    def _swept(self, now: float) -> list[str]:
        """The names of records whose grace is over."""
        self._orphans.forget(lambda resource: not any(True for _ in self.registry.of(resource)))
        return [slot[0] for resource in self._orphans.pass_time(now) for slot in self.registry.of(resource)]

    # ---- what the server holds

    def _read(self, content: Content) -> Mapping[str, None]:
        before, self.content = self.content, content
        changed = list(content.since(before))
        for name in changed:
            for record in before.at(name) if before is not None else ():
                _count(self.held, record.type, -1)
            for record in content.at(name):
                _count(self.held, record.type, 1)
        return self.registry.follow(content, changed)

    # ---- what is to be done

    def _at_name(self, name: str) -> AtName:
        owned = self.registry.at(name)
        return AtName(
            self.content.at(name) if self.content is not None else (),
            owned,
            self._tenancy.entitled(name, self._claims_at(name), owned),
            self._tenancy.kept_for(name),
            self.registry.has_ownership_record(name),
        )

    def _at_taken(self, name: str) -> AtName | None:
        """None at once where there are no claims, no records of ours and no hold."""
        if name in self._claims or self.registry.at(name) or self._tenancy.kept_for(name) is not None:
            return self._at_name(name)
        return None

    def _note_holder(self, name: str) -> str | None:
        """Notes which namespace has the name by its claims and records; a name whose hold was given up for it."""
        owned = self.registry.at(name)
        owners = [(slot, Ref.parse(ownership.resource)) for slot, ownership in owned.items()]
        kept = {ref.namespace for slot, ref in owners if ref is not None and self._is_held(slot, ref)}
        return self._tenancy.note(name, self._claims_at(name), owned, kept)

    def _claims_at(self, name: str) -> list[Claim]:
        return [claim for claims in self._claims.get(name, {}).values() for claim in claims]

    def _counted(self, name: str) -> list[Claim]:
        """The claims at a name that count for other names: a refused one reserves nothing."""
        holder = self._holders.namespace(name)
        return [each for each in self._claims_at(name) if self._rules.shared_names or each.ref.namespace == holder]

    def _drop(self, name: str) -> None:
        self._dependents.forget(name)
        before = self._names.pop(name, None)
        if before is None:
            return
        for change in before.changes:
            for part in change.parts:
                self.at.pop(part.record.slot, None)
        self.to_adjust.pop(name, None)
        self.pending.pop(name, None)
        for decision in before.decisions.values():
            if decision.in_place:
                _count(self.in_place, decision.slot[1], -1)

    def _plan(self, name: str, content: Content) -> None:
        owned = self._owned(name, content)
        claims = sorted(self._claims_at(name), key=lambda claim: (claim.ref, claim.index))
        if not claims and not owned:
            return
        plan = self._planner.plan(self._facts(name, content, owned, claims))
        self._tenancy.granted(name, plan.namespace, claims)
        self._names[name] = plan
        if plan.to_adjust:
            self.to_adjust[name] = plan.to_adjust
        if plan.changes:
            self.pending[name] = plan.changes
        self.at |= {part.record.slot: change for change in plan.changes for part in change.parts}
        for decision in plan.decisions.values():
            if decision.in_place:
                _count(self.in_place, decision.slot[1], 1)

    def _facts(self, name: str, content: Content, owned: Owned, claims: list[Claim]) -> Name:
        """What decides about a name, at other names too: it is planned anew when that changes."""
        records, ownership_names = content.at(name), self._ownership_names.of(name, claims)
        about = self._ownership_names.about(name, claims)
        others = records and not self.registry.has_ownership_record(name)
        covered = not (self._rules.shared_names or others or owned or self._tenancy.kept_for(name))
        delegates = self._cuts.active and any(claim.record.type in CUTS for claim in claims)
        entitled = {claim.id for claim in self._tenancy.entitled(name, claims, owned)}
        other = self._ownership_names.other_owner(name)
        self._dependents.note(
            name, (*ownership_names.values(), *((about[0],) if about else ()), *((other,) if other else ()))
        )
        found = {type_: self._ownership_names.in_the_way(at, content) for type_, at in ownership_names.items()}
        return Name(
            name,
            records,
            owned,
            claims,
            held=self._kept(owned),
            adjusted=self.adjusted,
            effects=self._holders.refusals(name),
            cut=self._cuts.above(name) if covered else None,
            hidden=self._cuts.hidden(name, self._holders.namespace) if delegates else frozenset(),
            waiting=frozenset(claim.id for claim in claims if claim.id not in entitled),
            reserved=self._ownership_names.reserved(about, self._counted(about[0]) if about else ()),
            in_the_way={type_: record for type_, record in found.items() if record is not None},
            other_owner=other,
            shared=self._ownership_names.shared(name, other, self._counted(other) if other else ()),
        )

    def _owned(self, name: str, content: Content) -> Owned:
        if self._rules.registry == "txt":
            return self.registry.at(name)
        # Without ownership records only what an object names that is being deleted is known to be ours.
        deleting = sorted(self._deleting.get(name, ()), reverse=True)
        standing = [(slot, ref, content.get(slot)) for slot, ref in deleting]
        return {
            slot: Ownership(self._rules.owner, ref.resource, record, "")
            for slot, ref, record in standing
            if record is not None
        }

    def _kept(self, owned: Owned) -> frozenset[Slot]:
        return frozenset(slot for slot, ownership in owned.items() if self._is_kept(slot, ownership.resource))

    def _is_kept(self, slot: Slot, resource: str) -> bool:
        ref = Ref.parse(resource)
        if self._is_held(slot, ref) or (ref is not None and ref.source not in self._populated):
            return True
        if ref in self.unreadable:
            return True
        return ref is not None and ref not in self._objects and self._orphans.kept(resource)

    def _is_held(self, slot: Slot, ref: Ref | None) -> bool:
        """Because of an object that is hidden, not marked yet or invalid."""
        forms = ALIASED if self.adjusted is not None and slot[1] in ALIASED else (slot[1],)
        if any((slot[0], type_, slot[2]) in self._held_slots for type_ in forms):
            return True
        return ref is not None and ref in self._held_refs


def _count(tally: Tally[Any], what: Hashable, by: int) -> None:
    """A count of zero is not kept."""
    tally[what] += by
    if not tally[what]:
        del tally[what]
