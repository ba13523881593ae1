"""Claims to the records of a name, what decides about them, and the decision about each. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from seamark.families.dns.model.entries import Ref
from seamark.families.dns.model.responses import Adjusted
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.registry import Owned
from seamark.families.dns.planning.relation import Effect
from seamark.providers.dns.model import Change, Record, Slot

Precedence = tuple[bool, str, int, Ref]
EXCLUSIVE = frozenset(("CNAME", "NS", "TXT"))  # what can't be at the name of an ownership record


@dataclass(frozen=True, slots=True)
class Claim:
    """A record that an object desires. One that is not `settled` must not be acted on yet, but keeps what is there.

    `refused`: an earlier run of the operator has refused it, by the object's status when it was first read.
    `created`: when the object was created. Unlike the other marks of age, no editor of the object can change it.
    """

    ref: Ref
    index: int
    record: Record
    labels: tuple[tuple[str, str], ...] = ()
    settled: bool = True
    refused: bool = False
    created: str = ""

    @property
    def id(self) -> tuple[Ref, int]:
        return self.ref, self.index


@dataclass(frozen=True, slots=True)
class ObjectClaims:
    """What one object claims in a zone.

    - `claims`: the records that it desires. `slots`: records that are left as they are because of it.
    - `held`: everything under its ownership is left as it is. `deleting`: the records that it names, while it is
      being deleted.
    """

    ref: Ref
    claims: tuple[Claim, ...] = ()
    slots: frozenset[Slot] = frozenset()
    held: bool = False
    deleting: tuple[Slot, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """In place, a change that is to come (`slot` is its), or the reason why neither."""

    slot: Slot
    in_place: bool = False
    reason: str = ""  # Conflict, NotOwned, Policy, Refused, Waiting
    message: str = ""


Decisions = Mapping[tuple[Ref, int], Decision]


@dataclass(frozen=True, slots=True)
class Reserved:
    """The name is that of the ownership record of another record, which exists (`stands`) or is claimed."""

    record: str
    stands: bool


@dataclass(frozen=True, slots=True)
class InTheWay:
    """A record at the name of an ownership record, and whether it is under our ownership."""

    record: str
    ours: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """A record by which a namespace hides the names below it."""

    type: str
    namespace: str


@dataclass(frozen=True, slots=True)
class AtName:
    """What is at a name: claims without those that wait, and the namespace that has released it lately."""

    records: tuple[Record, ...]
    owned: Owned
    claims: Sequence[Claim]
    released_by: str | None = None
    ownership_record: bool = False  # there is the ownership record of another record


@dataclass(frozen=True, slots=True)
class Name:
    """All that decides about a name: what is there, its owners, the claims to it, and what is left as it is.

    - `effects`: by namespace, how its claims would affect a name of another namespace.
    - `cut`: the nearest one above this name, which is not served yet.
    - `hidden`: the namespaces whose names a cut at this name would hide; "" for records that are not ours.
    - `waiting`: claims that get nothing before the name has been free for a while.
    - `reserved`: this is the name of another record's ownership record.
    - `in_the_way`: by type, what is where the ownership record of a claim would be.
    - `shared`: types of which `other_owner` has the ownership record that a claim here would need.
    """

    name: str
    records: tuple[Record, ...]
    owned: Owned
    claims: Sequence[Claim]
    held: frozenset[Slot] = frozenset()
    adjusted: Adjusted | None = None  # None where the provider takes records as they are
    effects: Mapping[str, Effect] = field(default_factory=dict)
    cut: Cut | None = None
    hidden: frozenset[str] = frozenset()
    waiting: frozenset[tuple[Ref, int]] = frozenset()
    reserved: Reserved | None = None
    in_the_way: Mapping[str, InTheWay] = field(default_factory=dict)
    other_owner: str | None = None
    shared: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NamePlan:
    """The changes at a name, the decision about each claim, and records of ours that no object wants there.

    `namespace`: the one whose claims were granted. `to_adjust`: records that the provider has to adjust first.
    """

    changes: tuple[Change, ...] = ()
    decisions: Decisions = field(default_factory=dict)
    lingering: Owned = field(default_factory=dict)
    to_adjust: tuple[Record, ...] = ()
    namespace: str | None = None


def holders(owned: Owned, rules: Rules) -> set[str]:
    """The namespaces that have records of ours at a name."""
    refs = [Ref.parse(ownership.resource) for ownership in owned.values() if rules.ours(ownership.owner)]
    return {ref.namespace for ref in refs if ref is not None}


def precedence(claim: Claim, held: Container[str]) -> Precedence:
    """Between namespaces: the one with records there, else the older object, fewer targets, the order of names."""
    return claim.ref.namespace not in held, claim.created, len(claim.record.targets), claim.ref


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


def display_name(ref: Ref, reader: Ref) -> str:
    """An object as it is named on the object `reader`. A name of another namespace is not shown."""
    if ref == reader:
        return "the same object"
    kind = KINDS.get(ref.source, ref.source)
    return f"{kind} {ref.name}" if ref.namespace == reader.namespace else f"a {kind} in another namespace"
