"""The plan of a whole zone, kept up with what changes at the cost of the change. No I/O."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from seamark.families.dns.plan import Claim, Name, NamePlan, Planner
from seamark.families.dns.registry import Owned, Ownership, Registry
from seamark.families.dns.rules import Rules
from seamark.families.dns.state import Adjusted, Ref
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
    """What is to be done in a zone, whoever claims what.

    - A name is planned anew when something about it has changed, and only then. The plan is the same as one that is
      made from nothing.
    - At most `AT_ONCE` names are planned in one go, so that a large change holds nobody up for long. A name that waits
      in the `backlog` has no plan: what was planned before stands no more.
    - Of a source that is not in `living`, nothing is deleted: one that is empty from the start may be the wrong one.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.registry = Registry(rules)
        self._planner = Planner(rules, self.registry)
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

    def name(self, name: str) -> NamePlan:
        return self._names.get(name, NOTHING)

    def left(self, stake: Stake) -> bool:
        """Whether something of this object is on the server."""
        if self._rules.registry == "txt":
            return any(True for _ in self.registry.of(stake.ref.resource))
        return any(slot[0] in self.backlog or slot in self.name(slot[0]).lingering for slot in stake.doomed)

    def follow(
        self, content: Content | None, stakes: Mapping[Hashable, Stake | None], living: frozenset[str]
    ) -> dict[str, None]:
        """These objects have changed, and this is what the server holds. Returns the names that were planned anew."""
        touched: dict[str, None] = {}
        for who, stake in stakes.items():
            touched.update(dict.fromkeys(self._take(who, stake)))
        if content is not None:
            touched.update(self._read(content))
        if living != self._living:
            self._living = living
            touched.update(dict.fromkeys(self.registry.names()))
        answered = [name for name, asks in self.asked.items() if any(one in (self.adjusted or {}) for one in asks)]
        touched.update(dict.fromkeys(answered))
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
        return planned

    # ---- who has what to do with the zone

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

    def _drop(self, name: str) -> None:
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
        claims = sorted(
            (claim for some in self._claims.get(name, {}).values() for claim in some),
            key=lambda claim: (claim.ref, claim.index),
        )
        if not claims and not owned:
            return
        held = self._let_alone(owned)
        plan = self._planner.plan(Name(name, content.at(name), owned, claims, held, self.adjusted))
        self._names[name] = plan
        if plan.asks:
            self.asked[name] = plan.asks
        if plan.changes:
            self.pending[name] = plan.changes
        self.at |= {part.record.slot: change for change in plan.changes for part in change.parts}
        for verdict in plan.verdicts.values():
            if verdict.in_place:
                _count(self.right, verdict.slot[1], 1)

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
        if slot in self._held_slots or (ref is not None and ref in self._held_refs):
            return True
        return ref is not None and ref.source not in self._living


def _count(tally: Tally[Any], what: Hashable, by: int) -> None:
    """What there is none of is not kept."""
    tally[what] += by
    if not tally[what]:
        del tally[what]
