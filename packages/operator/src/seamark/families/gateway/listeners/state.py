"""The conditions of listeners, and what the status of a gateway or a listener set is judged from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.results import ProgrammedResult
from seamark.gatewayapi.listeners import ListenerId
from seamark_runtime.conditions import ConditionType

PENDING = {"Pending": "The data plane has not answered yet"}
NO_DATA_PLANE = {"NoDataPlane": "The data plane is in memory: nothing listens"}

LISTENER_ACCEPTED = ConditionType(
    "Accepted",
    meaning="The listener can be served",
    reasons={
        "Accepted": "It can be served",
        "UnsupportedProtocol": "Its protocol is not known here",
        "UnsupportedValue": "One of its fields has a value that can't be served",
        "HostnameConflict": "Another listener of that port has the same hostname",
        "ProtocolConflict": "Another listener of that port speaks another protocol",
        "NoValidCACertificate": "None of the authorities for client certificates can be used",
        "PortUnavailable": "Its namespace has added as many ports to this gateway as it may",
    },
)
LISTENER_CONFLICTED = ConditionType(
    "Conflicted",
    meaning="The listener excludes another one",
    reasons={
        "NoConflicts": "No other listener is in its way",
        "HostnameConflict": "Another listener of that port has the same hostname",
        "ProtocolConflict": "Another listener of that port speaks another protocol",
    },
)
LISTENER_RESOLVED = ConditionType(
    "ResolvedRefs",
    meaning="Everything the listener refers to exists and may be used",
    reasons={
        "ResolvedRefs": "All references were found",
        "InvalidCertificateRef": "A certificate is missing or can't be used",
        "InvalidRouteKinds": "It allows routes of a kind that it can't serve",
        "RefNotPermitted": "Something of another namespace is used without a ReferenceGrant",
        "InvalidCACertificateRef": "An authority for client certificates is missing or can't be used",
        "InvalidCACertificateKind": "An authority for client certificates is of a kind that can't be used",
    },
)
LISTENER_PROGRAMMED = ConditionType(
    "Programmed",
    meaning="The data plane has acknowledged everything the listener needs, and answers requests at its port",
    reasons={
        **PENDING,
        **NO_DATA_PLANE,
        "Programmed": "The data plane serves it",
        "Invalid": "It can't be served",
        "HostnameConflict": "Another listener of that port has the same hostname",
        "ProtocolConflict": "Another listener of that port speaks another protocol",
    },
)


@dataclass(frozen=True)
class GatewayFacts:
    """What is known of a gateway: its view, the response of the data plane, and how many routes each listener has."""

    view: GatewayView
    programmed: ProgrammedResult | None = None
    counts: Mapping[ListenerId, int] = field(default_factory=dict)
