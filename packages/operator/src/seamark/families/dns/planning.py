"""The plan of a whole zone, kept up with what changes at the cost of the change. No I/O."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from seamark.families.dns.beside import Beside
from seamark.families.dns.claims import Claim, Name, NamePlan
from seamark.families.dns.cuts import AtName, Cuts
from seamark.families.dns.places import Places
from seamark.families.dns.plan import Planner
from seamark.families.dns.registry import Owned, Ownership, Registry
from seamark.families.dns.rules import Rules
from seamark.families.dns.state import Adjusted, Ref
from seamark.families.dns.tenancy import Tenancy
from seamark.families.dns.wildcards import Wildcards, is_wildcard
from seamark.families.dns.wishes import CUTS
from seamark.providers.dns.model import Change, Content, Record, Slot

NOTHING = NamePlan()
AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Stake:
    """What one object has to do with a zone.

    - `claims`: what it wishes for. `slots`: records that are let alone for its sake.
    - `held`: everything under its ownership is let alone. `doomed`: what it names, while it goes.
    """

    ref: Ref
    claims: tuple[Claim, ...] = ()
    slots: frozenset[Slot] = frozenset()
    held: bool = False
    doomed: tuple[Slot, ...] = ()


class ZonePlan:
    """What is to be done in a zone, for all claims.

    - A name is planned anew when something about it has changed, and only then. The plan is the same as one that is
      made from nothing.
    - At most `AT_ONCE` names are planned in one go, so that a large change delays other work only briefly. A name in
      the `backlog` has no plan: its former plan is void.
    - A name that was released lately is kept for its namespace: until `next_end` nothing changes by itself.
    - Of a source that is not in `living`, nothing is deleted: one that is empty from the start may be the wrong one.
    """

    def __init__(self, zone: str, rules: Rules) -> None:
        self._rules = rules
        self.registry = Registry(rules)
        self._planner = Planner(rules, self.registry)
        self._wildcards = Wildcards(zone, rules)
        self._places = Places(rules, self.registry)
        self._tenancy = Tenancy(rules)
        self._cuts = Cuts(zone, rules)
        self._beside = Beside()
        self._living: frozenset[str] = frozenset()
        self.adjusted: Adjusted | None = None  # None where the provider takes records as they are
        self.asked: dict[str, tuple[Record, ...]] = {}  # by name, what the provider has to adjust first
        self._stakes: dict[Hashable, Stake] = {}
        self._claims: dict[str, dict[Hashable, list[Claim]]] = {}  # by name, then by whose they are
        self._held_refs: Tally[Ref] = Tally()
        self._held_slots: Tally[Slot] = Tally()
        self._doomed: dict[str, Tally[tuple[Slot, Ref]]] = {}  # by name
        self._names: dict[str, NamePlan] = {}
        self.backlog: dict[str, None] = {}  # names that are still to be planned
        self.content: Content | None = None
        self.pending: dict[str, tuple[Change, ...]] = {}  # by name, where there is something to do
        self.at: dict[Slot, Change] = {}  # the change that each record is part of
        self.held: Tally[str] = Tally()  # records on the server, by type
        self.right: Tally[str] = Tally()  # claims that are in place, by type

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(change for changes in self.pending.values() for change in changes)

    @property
    def next_end(self) -> float:
        """When names become free by themselves."""
        return self._tenancy.next_end

    def name(self, name: str) -> NamePlan:
        return self._names.get(name, NOTHING)

    def left(self, stake: Stake) -> bool:
        """Whether something of this object is on the server."""
        if self._rules.registry == "txt":
            return any(True for _ in self.registry.of(stake.ref.resource))
        return any(slot[0] in self.backlog or slot in self.name(slot[0]).lingering for slot in stake.doomed)

    def follow(
        self,
        content: Content | None,
        stakes: Mapping[Hashable, Stake | None],
        living: frozenset[str],
        now: float = 0.0,
    ) -> dict[str, None]:
        """These objects have changed, and this is what the server holds. Returns the names that were planned anew."""
        freed = self._tenancy.pass_time(now, known=content is not None)
        touched = dict.fromkeys(freed)
        for who, stake in stakes.items():
            touched.update(dict.fromkeys(self._take(who, stake)))
        if content is not None:
            touched.update(self._read(content))
        if living != self._living:
            self._living = living
            touched.update(dict.fromkeys(self.registry.names()))
        touched.update(dict.fromkeys(self._answered()))
        for name in list(touched):
            if (given_up := self._look(name)) is not None:
                touched[given_up] = None
        for name in list(touched):
            if not is_wildcard(name) or self._note_wildcard(name):
                touched.update(dict.fromkeys(self._beside.planned_by(name)))
        for name in list(touched) if self._cuts.active else ():
            touched.update(dict.fromkeys(self._cuts.note(name, self._at_name(name))))
        for name in touched:
            self._drop(name)
        self.backlog.update(touched)
        return self._work_off()

    def _work_off(self) -> dict[str, None]:
        """Nothing is planned on a guess: not before it is known what the server holds."""
        content = self.content
        if content is None:
            return {}
        planned = dict.fromkeys(islice(self.backlog, AT_ONCE))
        for name in planned:
            del self.backlog[name]
            self._plan(name, content)
        self._forget_unwanted(planned)
        return planned

    # ---- what the provider makes of records

    def _answered(self) -> Iterator[str]:
        """Names about which the provider has answered since they were planned, or has to be asked again."""
        known = self.adjusted
        if known is None:
            return
        for name, asks in self.asked.items():
            if any(one in known and one not in known.expired for one in asks):
                yield name
        for record in known.expired:
            if record not in self.asked.get(record.name, ()):
                yield record.name

    def _forget_unwanted(self, planned: Mapping[str, None]) -> None:
        """An expired response about a record that is not wanted any more is not requested again."""
        known = self.adjusted
        for record in list(known.expired) if known is not None else ():
            if known is not None and record.name in planned and record not in self.asked.get(record.name, ()):
                known.forget(record)

    # ---- which objects concern the zone

    def _take(self, who: Hashable, stake: Stake | None) -> Iterator[str]:
        before = self._stakes.pop(who, None)
        if before == stake:
            if stake is not None:
                self._stakes[who] = stake
            return
        for one, sign in ((before, -1), (stake, 1)):
            if one is not None:
                yield from self._count(who, one, sign)
        if stake is not None:
            self._stakes[who] = stake

    def _count(self, who: Hashable, stake: Stake, sign: int) -> Iterator[str]:
        for claim in stake.claims:
            name = claim.record.name
            if sign > 0:
                self._claims.setdefault(name, {}).setdefault(who, []).append(claim)
            elif (claims := self._claims.get(name)) is not None:
                claims.pop(who, None)
                if not claims:
                    del self._claims[name]
            yield name
        if stake.held:
            _count(self._held_refs, stake.ref, sign)
            yield from [slot[0] for slot in self.registry.of(stake.ref.resource)]
        for slot in stake.slots:
            _count(self._held_slots, slot, sign)
            yield slot[0]
        for slot in stake.doomed:
            doomed = self._doomed.setdefault(slot[0], Tally())
            _count(doomed, (slot, stake.ref), sign)
            if not doomed:
                del self._doomed[slot[0]]
            yield slot[0]

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

    def _note_wildcard(self, name: str) -> bool:
        """Whether the names below it have to be planned anew."""
        found = self._at_name(name)
        return self._wildcards.note(name, found.records, found.owned, found.claims, found.released_by)

    def _at_name(self, name: str) -> AtName:
        owned = self.registry.at(name)
        return AtName(
            self.content.at(name) if self.content is not None else (),
            owned,
            self._tenancy.entitled(name, self._claims_at(name), owned),
            self._tenancy.kept_for(name),
            self.registry.is_place(name),
        )

    def _look(self, name: str) -> str | None:
        """Whose the name is by its claims and records; a name whose hold was given up for it."""
        owned = self.registry.at(name)
        refs = [Ref.parse(one.resource) for slot, one in owned.items() if self._is_held(slot, Ref.parse(one.resource))]
        let_alone = {ref.namespace for ref in refs if ref is not None}
        return self._tenancy.look(name, self._claims_at(name), owned, let_alone)

    def _claims_at(self, name: str) -> list[Claim]:
        return [claim for some in self._claims.get(name, {}).values() for claim in some]

    def _drop(self, name: str) -> None:
        self._beside.forget(name)
        before = self._names.pop(name, None)
        if before is None:
            return
        for change in before.changes:
            for part in change.parts:
                self.at.pop(part.record.slot, None)
        self.asked.pop(name, None)
        self.pending.pop(name, None)
        for verdict in before.verdicts.values():
            if verdict.in_place:
                _count(self.right, verdict.slot[1], -1)

    def _plan(self, name: str, content: Content) -> None:
        owned = self._owned(name, content)
        claims = sorted(self._claims_at(name), key=lambda claim: (claim.ref, claim.index))
        if not claims and not owned:
            return
        plan = self._planner.plan(self._seen(name, content, owned, claims))
        self._tenancy.granted(name, plan.namespace, claims)
        self._names[name] = plan
        if plan.asks:
            self.asked[name] = plan.asks
        if plan.changes:
            self.pending[name] = plan.changes
        self.at |= {part.record.slot: change for change in plan.changes for part in change.parts}
        for verdict in plan.verdicts.values():
            if verdict.in_place:
                _count(self.right, verdict.slot[1], 1)

    def _seen(self, name: str, content: Content, owned: Owned, claims: list[Claim]) -> Name:
        """What decides about a name, at other names too: it is planned anew when that changes."""
        records, places = content.at(name), self._places.of(name, claims)
        about = self._places.about(name, claims)
        covered = not (self._rules.shared_names or records or owned or self._tenancy.kept_for(name))
        delegates = self._cuts.active and any(claim.record.type in CUTS for claim in claims)
        entitled = {claim.id for claim in self._tenancy.entitled(name, claims, owned)}
        wildcards = self._wildcards.above(name) if covered and claims else ()
        self._beside.note(name, (*places.values(), *((about[0],) if about else ()), *wildcards))
        found = {type_: self._places.in_the_way(place, content) for type_, place in places.items()}
        return Name(
            name,
            records,
            owned,
            claims,
            held=self._let_alone(owned),
            adjusted=self.adjusted,
            kept_for=self._wildcards.namespace(name) if covered else None,
            cut=self._cuts.above(name) if covered else None,
            hidden=self._cuts.hidden(name, self._wildcards.namespace) if delegates else frozenset(),
            waiting=frozenset(claim.id for claim in claims if claim.id not in entitled),
            reserved=self._places.reserved(about, self._claims_at(about[0]) if about else ()),
            in_the_way={type_: one for type_, one in found.items() if one is not None},
        )

    def _owned(self, name: str, content: Content) -> Owned:
        if self._rules.registry == "txt":
            return self.registry.at(name)
        # Without ownership records only what a going object names is known to be ours.
        doomed = sorted(self._doomed.get(name, ()), reverse=True)
        standing = [(slot, ref, content.get(slot)) for slot, ref in doomed]
        return {
            slot: Ownership(self._rules.owner, ref.resource, record, "")
            for slot, ref, record in standing
            if record is not None
        }

    def _let_alone(self, owned: Owned) -> frozenset[Slot]:
        return frozenset(slot for slot, ownership in owned.items() if self._is_let_alone(slot, ownership.resource))

    def _is_let_alone(self, slot: Slot, resource: str) -> bool:
        ref = Ref.parse(resource)
        return self._is_held(slot, ref) or (ref is not None and ref.source not in self._living)

    def _is_held(self, slot: Slot, ref: Ref | None) -> bool:
        """For the sake of an object that is hidden, not marked yet or invalid."""
        return slot in self._held_slots or (ref is not None and ref in self._held_refs)


def _count(tally: Tally[Any], what: Hashable, by: int) -> None:
    """What there is none of is not kept."""
    tally[what] += by
    if not tally[what]:
        del tally[what]
