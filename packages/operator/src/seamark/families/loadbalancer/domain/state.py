"""What the decisions about a Domain are made from, and all of its conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.conditions import NO_EDGE
from seamark.families.loadbalancer.model.options import Options
from seamark_edge import model
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType

PENDING = {"Pending": "Not verified yet"}
NOT_VERIFIED = {"NotVerified": "The edge has not confirmed it since the time in the message"}

CREATED = ConditionType(
    "DomainCreated",
    meaning="The edge has reserved the name for this object",
    reasons={
        "DomainCreated": "The edge has it",
        "DomainCreationFailed": "The edge refused, or did not respond; the message has its error",
        "DomainInvalid": "No edge reserves such a name",
        "DomainTaken": "Another Domain has the name already",
        **NOT_VERIFIED,
        "Releasing": "It is being deleted: the edge is asked to release the name",
        **PENDING,
    },
)
CERTIFICATE = ConditionType(
    "CertificateReady",
    meaning="There is a certificate for the name",
    reasons={
        "CertificateReady": "The edge has a certificate",
        "NgrokManaged": "The edge issues its certificates itself",
        "ProvisioningError": "The edge could not obtain a certificate; the message has its error",
        "Provisioning": "The edge requests a certificate",
        "DomainNotCreated": "There is no domain at the edge",
        **NOT_VERIFIED,
        **PENDING,
    },
)
DNS = ConditionType(
    "DNSConfigured",
    meaning="The name leads to the edge",
    reasons={
        "NgrokManaged": "The name is below the edge's own domain",
        "DNSConfigured": "The edge got a certificate for the name, for which it must lead there",
        "ProvisioningError": "The edge reports that the name does not lead to it",
        "NotChecked": "Not checked by this edge. The message has the target of the record",
        "DomainNotCreated": "There is no domain at the edge",
        **NOT_VERIFIED,
        **PENDING,
    },
)
READY = ConditionType(
    "Ready",
    meaning="Endpoints can be reached by this name",
    reasons={
        "DomainActive": "The edge has the name and a certificate for it, and the name leads there",
        **NO_EDGE,
        **PENDING,
    },
    summary=True,
)
CONDITIONS = (CREATED, CERTIFICATE, DNS, READY)


# ---- actions; ANSWER is the type of the result


@dataclass(frozen=True)
class Reserve:
    ANSWER: ClassVar[Any] = model.Domain
    owner: model.Owner
    domain: str
    wanted: model.DomainSpec


@dataclass(frozen=True)
class GiveUp:
    """A domain is deleted with its object, or stays reserved without an owner."""

    ANSWER: ClassVar[Any] = None
    owner: model.Owner
    retain: bool


@dataclass(frozen=True, slots=True)
class Seen:
    domain: Domain
    results: Results
    options: Options
    holder: Domain | None  # another Domain that has this name
    reachable: bool = True  # clients reach what is at the edge
    cluster_uid: str = ""
    kept: bool = False  # the name is kept for another namespace, which had it before
