"""The conditions of a Gateway, and what its status and its view are made from."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.gateway.listeners.state import NO_DATA_PLANE, PENDING, GatewayFacts
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.conditions import ConditionType

GATEWAY_ACCEPTED = ConditionType(
    "Accepted",
    meaning="The gateway can be served",
    reasons={
        "Accepted": "It can be served",
        "ListenersNotValid": "At least one listener can't be served",
        "InvalidParameters": "It refers to parameters that can't be used",
        "UnsupportedAddress": "It asks for an address of a kind that can't be had",
    },
)
GATEWAY_RESOLVED = ConditionType(
    "ResolvedRefs",
    meaning="Everything the gateway itself refers to exists and may be used",
    reasons={
        "ResolvedRefs": "All references were found",
        "InvalidClientCertificateRef": "The certificate for backends can't be used",
        "RefNotPermitted": "Something of another namespace is used without a ReferenceGrant",
        "ListenersNotResolved": "A listener refers to something that can't be used",
    },
)
GATEWAY_PROGRAMMED = ConditionType(
    "Programmed",
    meaning="The data plane has acknowledged everything the gateway needs, and answers requests at its ports",
    reasons={
        **PENDING,
        **NO_DATA_PLANE,
        "Programmed": "The data plane serves it",
        "Invalid": "The data plane refused a part of it, or there is nothing to serve",
        "AddressNotUsable": "The address that it asks for can't be used here, is another gateway's, or gets no traffic",
        "AddressNotAssigned": "No address is left for it",
    },
    summary=True,
)
INSECURE = ConditionType(
    "InsecureFrontendValidationMode",
    meaning="Clients without a valid certificate are let in",
    reasons={"ConfigurationChanged": "A listener's client validation allows it"},
)


@dataclass(frozen=True)
class Seen:
    """A gateway, and what is known of it; None: it is not ours any more."""

    gateway: Gateway
    facts: GatewayFacts | None
