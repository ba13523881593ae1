"""What the server holds at a name, what is claimed there, the rules → changes, and a decision about each claim. No I/O.

- Claims for the same record with the same ttl are served together, with all their targets.
- Otherwise the holder of the record wins; else fewer targets, then the order of names. A CNAME loses to anything else
  at its name. The others are a conflict.
- A record that is there and not ours is left alone, and so is what is beside it that a CNAME would need gone.
- A record of ours without a claim is deleted, if the policy allows it and its source is one of those that are read:
  what a filter, a failing source or a half-made object hides is held, not deleted.
- A name belongs to one namespace: that of the records there, else that of the older object. No claim is granted
  that may affect a name of another namespace.
  Claims that wait for a name which was released lately get nothing; what stands there goes as if they did not exist.
- The name of an ownership record is for that record alone.
- Claims that are served together fit in one message; later ones are refused.
- The changes of one name are separate, so that one refused record holds no other; only a CNAME that takes the place of
  something, or gives way to it, is one change with that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from seamark.families.dns.model.adjustments import Forms
from seamark.families.dns.model.desired import MOST_BYTES, SINGLE, size_of
from seamark.families.dns.model.entries import Ref
from seamark.families.dns.model.rules import Policy, Rules
from seamark.families.dns.planning.claims import EXCLUSIVE, Claim, Decision, Name, NamePlan, display_name
from seamark.families.dns.planning.forms import FormsAtName
from seamark.families.dns.planning.granting import Granting
from seamark.families.dns.planning.registry import Owned, Ownership, Registry
from seamark.providers.dns.model import Change, Part, Record, Slot
from seamark.providers.dns.txt import PROPERTIES, RESOURCE, property_names

LONGEST_OWNER = 63  # characters of another owner's id that are shown


class Planner:
    """Plans one name at a time: nothing that is at another name changes what is to be done at this one."""

    def __init__(self, rules: Rules, registry: Registry) -> None:
        self._rules = rules
        self._registry = registry

    def plan(self, name: Name) -> NamePlan:
        planning = _Planning(name, self._rules, self._registry)
        granted, planning.decisions = Granting(name, self._rules).granted()
        lingering = self._lingering(name, granted)
        undecided = planning.forms.undecided(lingering, granted)
        planning.remove({slot: ownership for slot, ownership in lingering.items() if slot not in undecided})
        planning.claimed(granted)
        planning.remove(planning.forms.former(undecided, self._deletable))
        namespace = granted[0].ref.namespace if granted else None
        return NamePlan(
            tuple(_changes(planning.parts)), planning.decisions, lingering, tuple(planning.to_adjust), namespace
        )

    def _lingering(self, name: Name, granted: Sequence[Claim]) -> dict[Slot, Ownership]:
        claimed = {claim.record.slot for claim in granted}
        return {
            slot: ownership
            for slot, ownership in name.owned.items()
            if slot not in claimed and slot not in name.held and self._deletable(slot, ownership)
        }

    def _deletable(self, slot: Slot, ownership: Ownership) -> bool:
        rules = self._rules
        ref = Ref.parse(ownership.resource)
        if ref is None or not rules.ours(ownership.owner):
            return False
        if ref.source not in rules.sources or (rules.namespace and ref.namespace != rules.namespace):
            return False
        return slot[1] in rules.types and rules.domains.match(slot[0])


class _Planning:
    """One name being planned."""

    def __init__(self, name: Name, rules: Rules, registry: Registry) -> None:
        self._name = name
        self._rules = rules
        self._registry = registry
        self.parts: dict[Slot, tuple[Part, ...]] = {}
        self.decisions: dict[tuple[Ref, int], Decision] = {}  # begins with those that were not granted
        self.to_adjust: list[Record] = []
        self._standing = {record.slot: record for record in name.records}
        older = registry.older(name.name)
        self._untyped = [slot for slot, ownership in name.owned.items() if ownership is older]
        self._older_goes = False
        self._staying: Counter[str] = Counter()  # records that stay, by type; filled before claims are judged
        self.forms = FormsAtName(name, rules)

    def remove(self, going: Owned) -> None:
        if self._rules.policy is not Policy.SYNC:
            return
        older = self._without_older(going)
        for slot, ownership in going.items():
            record = self._standing.get(slot)
            gone = (Part(record, None),) if record is not None else ()
            typed = () if ownership.older else self._registry.parts(slot, ownership, None)
            self.parts[slot] = (*gone, *typed, *(part for part in older if part not in (*gone, *typed)))
            older = ()

    def _without_older(self, going: Collection[Slot]) -> tuple[Part, ...]:
        """An ownership record of ours without a type is removed once, when no record depends on it any more."""
        older = self._registry.older(self._name.name)
        if older is None or self._older_goes or not self._rules.ours(older.owner):
            return ()
        if len(self._untyped) > len(going) or any(slot not in going for slot in self._untyped):
            return ()
        self._older_goes = True
        removal = self._registry.parts((older.record.name, "TXT", ""), older, None)
        planned = {part for parts in self.parts.values() for part in parts}
        return tuple(part for part in removal if part not in planned)

    def claimed(self, granted: Sequence[Claim]) -> None:
        owned, decisions = self._name.owned, self.decisions
        self.forms.expect(granted)
        slots: dict[Slot, list[Claim]] = {}
        for claim in self._not_reserved(granted):
            slots.setdefault(claim.record.slot, []).append(claim)
        alone = [slot for slot in slots if slot[1] == "CNAME"]
        if alone and len(slots) > len(alone):
            other = next(claims[0] for slot, claims in slots.items() if slot[1] != "CNAME")
            for slot in alone:
                self.forms.forget(slot)
                for claim in slots.pop(slot):
                    owner = display_name(other.ref, claim.ref)
                    self._refuse(claim, f"a CNAME can't be beside the {other.record.type} record of {owner}")
                if slot in owned and self._rules.ours(owned[slot].owner):
                    self.remove({slot: owned[slot]})
        going = {slot for slot, parts in self.parts.items() if parts and parts[0].after is None}
        self._staying = Counter(
            slot[1] for slot in self._standing if slot not in going and not self.forms.replaceable(slot)
        )
        for slot, competing in slots.items():
            winners = self._fitting(self._winners(competing, owned.get(slot)))
            winning = {claim.id for claim in winners}
            for claim in competing:
                if claim.id not in winning and claim.id not in decisions:
                    owner = display_name(winners[0].ref, claim.ref)
                    self._refuse(claim, f"{claim.record} is already claimed by {owner}")
            decision = self._slot(winners)
            for claim in winners:
                decisions[claim.id] = decision

    def _refuse(self, claim: Claim, message: str) -> None:
        self.decisions[claim.id] = Decision(claim.record.slot, reason="Conflict", message=message)

    def _not_reserved(self, claims: Sequence[Claim]) -> Sequence[Claim]:
        """Without those for what can't be beside an ownership record. One that stood there before it goes."""
        reserved, owned = self._name.reserved, self._name.owned
        if reserved is None:
            return claims
        free: list[Claim] = []
        for claim in claims:
            slot = claim.record.slot
            held = slot in owned and self._rules.ours(owned[slot].owner)
            if claim.record.type not in EXCLUSIVE or (held and not reserved.stands):
                free.append(claim)
                continue
            taken = f"{slot[0]} is the name of the ownership record of {reserved.record}"
            self._refuse(claim, f"{taken}, beside which there can't be a {slot[1]} record; choose another name")
            if held and slot not in self.parts:
                self.remove({slot: owned[slot]})
        return free

    def _fitting(self, winners: list[Claim]) -> list[Claim]:
        """As many as fit in one message together: those that are served already, then the others in order."""
        if len(winners) == 1 or winners[0].record.type in SINGLE:
            return winners
        standing = self._standing.get(winners[0].record.slot)
        served = frozenset(standing.targets if standing is not None else ())
        fitting: list[Claim] = []
        targets: set[str] = set()
        size = 0
        for claim in sorted(winners, key=lambda claim: not served.issuperset(claim.record.targets)):
            more = {target for target in claim.record.targets if target not in targets}
            if (total := size + sum(map(size_of, more))) > MOST_BYTES:
                excess = f"with the targets of other objects {claim.record} has more than {MOST_BYTES} bytes"
                self._refuse(claim, f"{excess}, and does not fit in a DNS message; use fewer targets or another name")
                continue
            size = total
            targets |= more
            fitting.append(claim)
        kept = {claim.id for claim in fitting}
        return [claim for claim in winners if claim.id in kept]

    def _winners(self, competing: Sequence[Claim], standing: Ownership | None) -> list[Claim]:
        if len(competing) == 1:
            return list(competing)
        groups: dict[object, list[Claim]] = {}
        for claim in competing:
            record = claim.record
            mark = record.targets if record.type in SINGLE else ()
            groups.setdefault((record.ttl, record.properties, mark), []).append(claim)
        holder = standing.resource if standing is not None and self._rules.ours(standing.owner) else ""

        def weight(group: list[Claim]) -> tuple[bool, int, Ref]:
            holds = any(claim.ref.resource == holder for claim in group)
            return (not holds, min(len(claim.record.targets) for claim in group), min(claim.ref for claim in group))

        best = min(groups.values(), key=weight)
        return sorted(best, key=lambda claim: (claim.ref.resource != holder, claim.ref, claim.index))

    def _slot(self, winners: Sequence[Claim]) -> Decision:
        first = winners[0]
        slot, standing = first.record.slot, self._standing.get(first.record.slot)
        ownership = self._name.owned.get(slot)
        if (refusal := self._refused(slot, standing, ownership)) is not None:
            return refusal
        if not all(claim.settled for claim in winners):
            return Decision(slot, reason="Waiting", message="the object is not marked yet")
        forms = self._adjusted(_merged(winners))
        if isinstance(forms, Decision):
            return forms
        self.forms.known(slot, forms)
        return self._formed(forms, winners)

    def _formed(self, forms: Sequence[Record], winners: Sequence[Claim]) -> Decision:
        """What a claim becomes at the provider: itself, or records of other types, each with its ownership record."""
        decision = Decision(forms[0].slot, in_place=True)
        planned: dict[Slot, tuple[Part, ...]] = {}
        for form in forms:
            standing, ownership = self._standing.get(form.slot), self._name.owned.get(form.slot)
            if form.slot != winners[0].record.slot and (refusal := self._refused(form.slot, standing, ownership)):
                return refusal
            parts = self._difference(form, standing, ownership, winners)
            if parts and standing is not None and self._rules.policy is Policy.CREATE_ONLY:
                message = f"{form} is there with other content, and the policy create-only changes nothing"
                return Decision(form.slot, reason="Policy", message=message)
            if parts:
                planned[form.slot] = parts
        self.parts |= planned
        return Decision(next(iter(planned))) if planned else decision

    def _refused(self, slot: Slot, standing: Record | None, ownership: Ownership | None) -> Decision | None:
        """Why this record can't be ours; None when it can."""
        if slot[1] in self._name.shared and ownership is None:
            pair = " and ".join(sorted((slot[0], self._name.other_owner or "")))
            shared = f"{pair} would have the same ownership record; choose another name"
            return Decision(slot, reason="Conflict", message=f"{shared} or another wildcard replacement")
        if foreign := self._foreign(slot, standing, ownership):
            return Decision(slot, reason="NotOwned", message=foreign)
        other = self._name.in_the_way.get(slot[1])
        if other is None:
            return None
        message = f"the ownership record of {slot[0]} {slot[1]} can't be beside {other.record}; choose another name"
        return Decision(slot, reason="Conflict" if other.ours else "NotOwned", message=message)

    def _adjusted(self, wanted: Record) -> Forms | Decision:
        """As adjusted by the provider, or why that is not known."""
        known = self._name.adjusted
        if known is None:
            return (wanted,)
        if wanted not in known or wanted in known.expired:
            self.to_adjust.append(wanted)
        if wanted not in known:
            return Decision(wanted.slot, reason="Waiting", message="the provider has not been asked yet")
        found = known[wanted]
        message = f"the provider does not take {wanted}"
        return found or Decision(wanted.slot, reason="Refused", message=message)

    def _difference(
        self, wanted: Record, standing: Record | None, ownership: Ownership | None, winners: Sequence[Claim]
    ) -> tuple[Part, ...]:
        named = frozenset(name for name, _ in wanted.properties)
        exact = self._name.adjusted is not None  # a provider that adjusts records has added its own properties then
        standing_names = {name for name, _ in standing.properties} if standing is not None else set[str]()
        noted = ownership.properties if ownership is not None else frozenset[str]()
        known = named | standing_names if exact else noted
        removed = frozenset((known - named) & standing_names)
        same = standing is not None and (
            standing.targets == wanted.targets
            and wanted.ttl in (0, standing.ttl)
            and set(wanted.properties) <= set(standing.properties)  # a provider may add its own
            and not removed
        )
        if self._rules.registry != "txt":
            return () if same else (Part(standing, wanted, removed),)
        holders = {claim.ref.resource for claim in winners}
        owner_stands = ownership is not None and ownership.owner == self._rules.owner
        if same and owner_stands and ownership is not None and ownership.resource in holders and named <= known:
            return ()
        labels = {**dict(winners[0].labels), RESOURCE: winners[0].ref.resource}
        if ownership is not None and ownership.resource in holders:
            labels[RESOURCE] = ownership.resource
        if not exact and (names := property_names(named | (known & standing_names))):
            labels[PROPERTIES] = names
        own = self._registry.parts(wanted.slot, ownership, labels, wanted.properties)
        if own:
            own = (*own, *self._without_older((wanted.slot,)))  # the new one takes its place
        return own if same else (Part(standing, wanted, removed), *own)

    def _foreign(self, slot: Slot, standing: Record | None, ownership: Ownership | None) -> str:
        """Why this record can't be ours; empty when it can."""
        name, type_, _ = slot
        if self._rules.registry == "txt":
            if ownership is not None and not self._rules.ours(ownership.owner):
                return f"{name} {type_} belongs to the owner {ownership.owner[:LONGEST_OWNER]!r}"
            if ownership is None and standing is not None:
                return f"{name} {type_} is on the name server already, without a valid ownership record"
        beside = self._staying - Counter((type_,) if standing is not None else ())
        clash = [other for other in beside if "CNAME" in (type_, other)]
        if clash:
            return f"{name} has {', '.join(clash)} on the name server, beside which there can't be a {type_} record"
        return ""


def _merged(winners: Sequence[Claim]) -> Record:
    first = winners[0].record
    if len(winners) == 1:
        return first
    targets = tuple(sorted({target for claim in winners for target in claim.record.targets}))
    spelled = tuple(sorted({pair for claim in winners for pair in claim.record.spelled}))
    return replace(first, targets=targets, spelled=spelled)


def _changes(planned: Mapping[Slot, tuple[Part, ...]]) -> list[Change]:
    parts = {slot: slot_parts for slot, slot_parts in planned.items() if slot_parts}
    if len(parts) > 1 and any(slot[1] == "CNAME" for slot in parts):
        coming = [slot for slot, slot_parts in parts.items() if slot_parts[0].after is not None]
        together = sorted(parts, key=lambda slot: slot not in coming)
        return [Change(together[0], tuple(part for slot in together for part in parts[slot]))]
    return [Change(slot, slot_parts) for slot, slot_parts in parts.items()]
