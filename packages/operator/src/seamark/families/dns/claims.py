"""Claims to the records of a name, what decides about them, and the verdict on each. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from seamark.families.dns.registry import Owned
from seamark.families.dns.rules import Rules
from seamark.families.dns.state import Adjusted, Ref
from seamark.providers.dns.model import Change, Record, Slot

EXCLUSIVE = frozenset(("CNAME", "NS", "TXT"))  # what can't be at the name of an ownership record


@dataclass(frozen=True, slots=True)
class Claim:
    """A wish of an object. One that is not `settled` must not be acted on yet, but holds what is there.

    `refused`: an earlier run of the operator has refused it, by the object's status when it was first read.
    """

    ref: Ref
    index: int
    record: Record
    labels: tuple[tuple[str, str], ...] = ()
    settled: bool = True
    refused: bool = False

    @property
    def id(self) -> tuple[Ref, int]:
        return self.ref, self.index


@dataclass(frozen=True, slots=True)
class Verdict:
    """In place, a change that is to come (`slot` is its), or the reason why neither."""

    slot: Slot
    in_place: bool = False
    reason: str = ""  # Conflict, NotOwned, Policy, Waiting
    message: str = ""


Verdicts = Mapping[tuple[Ref, int], Verdict]


@dataclass(frozen=True, slots=True)
class Reserved:
    """The name is that of the ownership record of another record, which `stands` or is claimed."""

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
class Name:
    """All that decides about a name: what is there, whose that is, who claims it, and what is let alone.

    - `kept_for`: the namespace whose wildcard answers for this name, which is not served yet.
    - `cut`: the nearest one above this name, which is not served yet.
    - `hidden`: the namespaces whose names a cut at this name would hide; "" for records that are not ours.
    - `waiting`: claims that get nothing before the name has been free for a while.
    - `reserved`: this is the name of another record's ownership record.
    - `in_the_way`: by type, what is where the ownership record of a claim would be.
    """

    name: str
    records: tuple[Record, ...]
    owned: Owned
    claims: Sequence[Claim]
    held: frozenset[Slot] = frozenset()
    adjusted: Adjusted | None = None  # None where the provider takes records as they are
    kept_for: str | None = None
    cut: Cut | None = None
    hidden: frozenset[str] = frozenset()
    waiting: frozenset[tuple[Ref, int]] = frozenset()
    reserved: Reserved | None = None
    in_the_way: Mapping[str, InTheWay] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NamePlan:
    """The changes at a name, the verdict on each claim, and records of ours that no object wants there.

    `namespace`: whose claims were granted. `asks`: how the provider would have these records is not known yet.
    """

    changes: tuple[Change, ...] = ()
    verdicts: Verdicts = field(default_factory=dict)
    lingering: Owned = field(default_factory=dict)
    asks: tuple[Record, ...] = ()
    namespace: str | None = None


def holders(owned: Owned, rules: Rules) -> set[str]:
    """The namespaces that have records of ours at a name."""
    refs = [Ref.parse(one.resource) for one in owned.values() if rules.ours(one.owner)]
    return {ref.namespace for ref in refs if ref is not None}


def precedence(claim: Claim, held: Container[str]) -> tuple[bool, int, Ref]:
    """Between namespaces: the one with records there, else fewer targets, else the order of names."""
    return claim.ref.namespace not in held, len(claim.record.targets), claim.ref


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


def called(who: Ref, to: Ref) -> str:
    """A name of another namespace is not shown."""
    if who == to:
        return "the same object"
    kind = KINDS.get(who.source, who.source)
    return f"{kind} {who.name}" if who.namespace == to.namespace else f"a {kind} in another namespace"
