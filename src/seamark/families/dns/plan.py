"""What the server holds at a name, what is claimed there, the rules → changes, and a verdict on each claim. Pure.

- Claims for the same record with the same ttl are served together, with all their targets.
- Otherwise who holds the record already wins; else fewer targets, then the order of names. A CNAME loses to anything
  else at its name. Losers are told.
- A record that is there and not ours is left alone, and so is what is beside it that a CNAME would need gone.
- A record of ours that nobody claims is deleted, if the policy says so and its source is one of those that are read:
  what a filter, a failing source or a half-made object hides is held, not deleted.
- The changes of one name are separate, so that one refused record holds no other; only a CNAME that takes the place of
  something, or gives way to it, is one change with that.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from seamark.families.dns.registry import Owned, Ownership, Registry
from seamark.families.dns.rules import Policy, Rules
from seamark.families.dns.state import Adjusted, Ref
from seamark.families.dns.wishes import SINGLE
from seamark.providers.dns.model import Change, Part, Record, Slot
from seamark.wire.txt import RESOURCE


@dataclass(frozen=True, slots=True)
class Claim:
    """A wish of an object. One that is not `settled` must not be acted on yet, but holds what is there."""

    ref: Ref
    index: int
    record: Record
    labels: tuple[tuple[str, str], ...] = ()
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """In place, a change that is to come (`slot` is its), or the reason why neither."""

    slot: Slot
    in_place: bool = False
    reason: str = ""  # Conflict, NotOwned, Policy, Waiting
    message: str = ""


Verdicts = Mapping[tuple[Ref, int], Verdict]


@dataclass(frozen=True, slots=True)
class Name:
    """All that decides about a name: what is there, whose that is, who claims it, and what is let alone."""

    name: str
    records: tuple[Record, ...]
    owned: Owned
    claims: Sequence[Claim]
    held: frozenset[Slot] = frozenset()
    adjusted: Adjusted | None = None  # None where the provider takes records as they are

    def get(self, slot: Slot) -> Record | None:
        return next((record for record in self.records if record.slot == slot), None)


@dataclass(frozen=True, slots=True)
class NamePlan:
    """What is to be done at a name, what is said of each claim, and what of ours nobody wants there.

    `asks`: how the provider would have these records is not known yet.
    """

    changes: tuple[Change, ...] = ()
    verdicts: Verdicts = field(default_factory=dict)
    lingering: Owned = field(default_factory=dict)
    asks: tuple[Record, ...] = ()


class Planner:
    """Plans one name at a time: nothing that is at another name changes what is to be done at this one."""

    def __init__(self, rules: Rules, registry: Registry) -> None:
        self._rules = rules
        self._registry = registry

    def plan(self, name: Name) -> NamePlan:
        lingering = self._lingering(name)
        planning = _Planning(name, self._rules, self._registry)
        for slot in lingering:
            planning.remove(slot, lingering)
        planning.claimed()
        return NamePlan(tuple(_changes(planning.parts)), planning.verdicts, lingering, tuple(planning.asks))

    def _lingering(self, name: Name) -> dict[Slot, Ownership]:
        claimed = {claim.record.slot for claim in name.claims}
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
        self.verdicts: dict[tuple[Ref, int], Verdict] = {}
        self.asks: list[Record] = []

    def remove(self, slot: Slot, going: Owned) -> None:
        if self._rules.policy is not Policy.SYNC:
            return
        record, ownership = self._name.get(slot), going[slot]
        gone = (Part(record, None),) if record is not None else ()
        typed = () if ownership.older else self._registry.parts(slot, ownership, None)
        self.parts[slot] = (*gone, *typed, *self._without_older(going))

    def _without_older(self, going: Container[Slot]) -> tuple[Part, ...]:
        """An ownership record of ours without a type goes when nothing leans on it any more."""
        older = self._registry.older(self._name.name)
        if older is None or not self._rules.ours(older.owner):
            return ()
        if any(one is older and slot not in going for slot, one in self._name.owned.items()):
            return ()
        removal = self._registry.parts((older.record.name, "TXT", ""), older, None)
        planned = [part for parts in self.parts.values() for part in parts]
        return tuple(part for part in removal if part not in planned)

    def claimed(self) -> None:
        owned, verdicts = self._name.owned, self.verdicts
        slots: dict[Slot, list[Claim]] = {}
        for claim in self._of_one_namespace(self._name.claims):
            slots.setdefault(claim.record.slot, []).append(claim)
        alone = [slot for slot in slots if slot[1] == "CNAME"]
        if alone and len(slots) > len(alone):
            other = next(claims[0] for slot, claims in slots.items() if slot[1] != "CNAME")
            for slot in alone:
                for claim in slots.pop(slot):
                    words = f"a CNAME can't be beside the {other.record.type} record of {_called(other.ref, claim.ref)}"
                    verdicts[(claim.ref, claim.index)] = Verdict(slot, reason="Conflict", message=words)
                if slot in owned and self._rules.ours(owned[slot].owner):
                    self.remove(slot, {slot: owned[slot]})
        for slot, rivals in slots.items():
            winners = self._winners(rivals, owned.get(slot))
            for claim in rivals:
                if claim not in winners:
                    words = f"{claim.record} is already claimed by {_called(winners[0].ref, claim.ref)}"
                    verdicts[(claim.ref, claim.index)] = Verdict(slot, reason="Conflict", message=words)
            verdict = self._slot(winners)
            for claim in winners:
                verdicts[(claim.ref, claim.index)] = verdict

    def _of_one_namespace(self, claims: Sequence[Claim]) -> Sequence[Claim]:
        """A name belongs to one namespace: to the one that has records there, or else to the first."""
        if self._rules.shared_names or len({claim.ref.namespace for claim in claims}) < 2:
            return claims
        refs = [Ref.parse(one.resource) for one in self._name.owned.values() if self._rules.ours(one.owner)]
        held = {ref.namespace for ref in refs if ref is not None}
        first = min(claims, key=lambda one: (one.ref.namespace not in held, len(one.record.targets), one.ref)).ref
        for claim in claims:
            if claim.ref.namespace != first.namespace:
                words = f"{claim.record} is already claimed by {_called(first, claim.ref)}"
                self.verdicts[(claim.ref, claim.index)] = Verdict(claim.record.slot, reason="Conflict", message=words)
        return [claim for claim in claims if claim.ref.namespace == first.namespace]

    def _winners(self, rivals: Sequence[Claim], standing: Ownership | None) -> list[Claim]:
        if len(rivals) == 1:
            return list(rivals)
        groups: dict[object, list[Claim]] = {}
        for claim in rivals:
            record = claim.record
            mark = record.targets if record.type in SINGLE else ()
            groups.setdefault((record.ttl, record.properties, mark), []).append(claim)
        holder = standing.resource if standing is not None and self._rules.ours(standing.owner) else ""

        def weight(group: list[Claim]) -> tuple[bool, int, Ref]:
            holds = any(claim.ref.resource == holder for claim in group)
            return (not holds, min(len(claim.record.targets) for claim in group), min(claim.ref for claim in group))

        best = min(groups.values(), key=weight)
        return sorted(best, key=lambda claim: (claim.ref.resource != holder, claim.ref, claim.index))

    def _slot(self, winners: Sequence[Claim]) -> Verdict:
        first = winners[0]
        slot, standing = first.record.slot, self._name.get(first.record.slot)
        ownership = self._name.owned.get(slot)
        if foreign := self._foreign(slot, standing, ownership):
            return Verdict(slot, reason="NotOwned", message=foreign)
        if not all(claim.settled for claim in winners):
            return Verdict(slot, reason="Waiting", message="the object is not marked yet")
        wanted = self._adjusted(_merged(winners))
        if isinstance(wanted, Verdict):
            return wanted
        parts = self._difference(wanted, standing, ownership, winners)
        if not parts:
            return Verdict(slot, in_place=True)
        if standing is not None and self._rules.policy is Policy.CREATE_ONLY:
            words = f"{wanted} is there with other content, and the policy create-only changes nothing"
            return Verdict(slot, reason="Policy", message=words)
        self.parts[slot] = parts
        return Verdict(slot)

    def _adjusted(self, wanted: Record) -> Record | Verdict:
        """As the provider would rather have it, or why that can't be said."""
        known = self._name.adjusted
        if known is None:
            return wanted
        if wanted not in known:
            self.asks.append(wanted)
            return Verdict(wanted.slot, reason="Waiting", message="the provider has not been asked yet")
        found = known[wanted]
        words = f"the provider does not take {wanted}"
        return found if found is not None else Verdict(wanted.slot, reason="Policy", message=words)

    def _difference(
        self, wanted: Record, standing: Record | None, ownership: Ownership | None, winners: Sequence[Claim]
    ) -> tuple[Part, ...]:
        same = standing is not None and (
            standing.targets == wanted.targets
            and wanted.ttl in (0, standing.ttl)
            and set(wanted.properties) <= set(standing.properties)  # a provider may add its own
        )
        if self._rules.registry != "txt":
            return () if same else (Part(standing, wanted),)
        holders = {claim.ref.resource for claim in winners}
        owner_stands = ownership is not None and ownership.owner == self._rules.owner
        if same and owner_stands and ownership is not None and ownership.resource in holders:
            return ()
        labels = {**dict(winners[0].labels), RESOURCE: winners[0].ref.resource}
        if ownership is not None and ownership.resource in holders:
            labels[RESOURCE] = ownership.resource
        own = self._registry.parts(wanted.slot, ownership, labels)
        if own:
            own = (*own, *self._without_older((wanted.slot,)))  # the new one takes its place
        return own if same else (Part(standing, wanted), *own)

    def _foreign(self, slot: Slot, standing: Record | None, ownership: Ownership | None) -> str:
        """Why this record can't be ours, in words; empty when it can."""
        name, type_, _ = slot
        if self._rules.registry == "txt":
            if ownership is not None and not self._rules.ours(ownership.owner):
                return f"{name} {type_} belongs to the owner {ownership.owner!r}"
            if ownership is None and standing is not None:
                return f"{name} {type_} is on the name server already, and is nobody's we know"
        going = {s for s, parts in self.parts.items() if parts and parts[0].after is None}
        beside = [one for one in self._name.records if one.slot != slot and one.slot not in going]
        clash = [one.type for one in beside if type_ == "CNAME" or one.type == "CNAME"]
        if clash:
            return f"{name} has {', '.join(clash)} on the name server, beside which there can't be a {type_} record"
        return ""


def _merged(winners: Sequence[Claim]) -> Record:
    first = winners[0].record
    if len(winners) == 1:
        return first
    targets = tuple(sorted({target for claim in winners for target in claim.record.targets}))
    return Record(first.name, first.type, targets, first.ttl, first.set_identifier, first.properties)


KINDS = {
    "crd": "DNSEndpoint",
    "service": "Service",
    "ingress": "Ingress",
    "gateway": "Gateway",
    "httproute": "HTTPRoute",
    "grpcroute": "GRPCRoute",
    "tlsroute": "TLSRoute",
    "tcproute": "TCPRoute",
}


def _called(who: Ref, to: Ref) -> str:
    """A name out of another namespace is not told."""
    if who == to:
        return "the same object"
    kind = KINDS.get(who.source, who.source)
    return f"{kind} {who.name}" if who.namespace == to.namespace else f"a {kind} in another namespace"


def _changes(planned: Mapping[Slot, tuple[Part, ...]]) -> list[Change]:
    parts = {slot: some for slot, some in planned.items() if some}
    if len(parts) > 1 and any(slot[1] == "CNAME" for slot in parts):
        coming = [slot for slot, some in parts.items() if some[0].after is not None]
        together = sorted(parts, key=lambda slot: slot not in coming)
        return [Change(together[0], tuple(part for slot in together for part in parts[slot]))]
    return [Change(slot, some) for slot, some in parts.items()]
