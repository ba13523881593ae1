"""All conditions of the gateway family with their reasons."""

from __future__ import annotations

from seamark_runtime.conditions import ConditionType

CONTROLLER_NAME = "kgateway.dev/kgateway"
CLASS_NAME = "kgateway"
MOST_PARENTS, MOST_ANCESTORS = 32, 16  # what the API takes in one status

PENDING = {"Pending": "The data plane has not answered yet"}

CLASS_ACCEPTED = ConditionType(
    "Accepted",
    meaning="This controller serves the class",
    reasons={
        "Accepted": "The controller runs",
        "InvalidParameters": "The class refers to parameters that this controller does not know",
    },
)
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
    meaning="Everything the gateway itself refers to is there and may be used",
    reasons={
        "ResolvedRefs": "All references were found",
        "InvalidClientCertificateRef": "The certificate for backends can't be used",
        "RefNotPermitted": "Something of another namespace is used without a ReferenceGrant",
        "ListenersNotResolved": "A listener refers to something that can't be used",
    },
)
GATEWAY_PROGRAMMED = ConditionType(
    "Programmed",
    meaning="The data plane has acknowledged everything the gateway needs, and listens",
    reasons={
        **PENDING,
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
        "PortUnavailable": "The port can't be used",
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
    meaning="Everything the listener refers to is there and may be used",
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
    meaning="The data plane has acknowledged everything the listener needs, and listens",
    reasons={
        **PENDING,
        "Programmed": "The data plane serves it",
        "Invalid": "It can't be served",
        "HostnameConflict": "Another listener of that port has the same hostname",
        "ProtocolConflict": "Another listener of that port speaks another protocol",
    },
)
OVERLAPPING = ConditionType(
    "OverlappingTLSConfig",
    meaning="Listeners share a port, and a client may reuse a connection for the wrong one",
    reasons={"OverlappingHostnames": "Their hostnames overlap", "OverlappingCertificates": "Their certificates do"},
)

SET_ACCEPTED = ConditionType(
    "Accepted",
    meaning="The gateway takes the listeners of this set",
    reasons={
        "Accepted": "At least one is taken",
        "NotAllowed": "The gateway allows no listeners from this namespace",
        "ParentNotAccepted": "The gateway can't be served itself",
        "ListenersNotValid": "At least one listener can't be served",
    },
)
SET_PROGRAMMED = ConditionType(
    "Programmed",
    meaning="The data plane serves the listeners of this set",
    reasons={
        **PENDING,
        "Programmed": "The data plane serves them",
        "Invalid": "None of them can be served",
        "NotAllowed": "The gateway allows no listeners from this namespace",
        "ListenersNotValid": "None of them can be served",
    },
    summary=True,
)

ROUTE_ACCEPTED = ConditionType(
    "Accepted",
    meaning="The route is attached to this parent",
    reasons={
        "Accepted": "At least one listener of the parent takes the route",
        "NoMatchingParent": "The parent has no listener of that name or port",
        "NoMatchingListenerHostname": "No listener has a hostname in common with the route",
        "NotAllowedByListeners": "The listeners do not allow routes of this kind or namespace",
        "UnsupportedValue": "None of its rules can be served, or the data plane refused it",
    },
)
ROUTE_RESOLVED = ConditionType(
    "ResolvedRefs",
    meaning="Everything the route refers to is there and may be used",
    reasons={
        "ResolvedRefs": "All references were found",
        "BackendNotFound": "A backend does not exist",
        "RefNotPermitted": "Something of another namespace is used without a ReferenceGrant",
        "InvalidKind": "A reference is of a kind that can't be used",
        "InvalidExtensionRef": "An extension that a rule names can't be used",
        "UnsupportedProtocol": "A backend speaks a protocol that can't be used",
    },
)
PARTIALLY_INVALID = ConditionType(
    "PartiallyInvalid",
    meaning="Some rules of the route can't be served; the others are",
    reasons={"UnsupportedValue": "A rule has a value that can't be served"},
)

POLICY_ACCEPTED = ConditionType(
    "Accepted",
    meaning="The policy holds for this ancestor",
    reasons={
        "Accepted": "It can be served",
        "Valid": "It can be served",
        "Invalid": "It says something that can't be served",
        "Conflicted": "An older policy says the same of the same target",
        "NoValidCACertificate": "None of its authorities can be used",
    },
)
POLICY_RESOLVED = ConditionType(
    "ResolvedRefs",
    meaning="Everything the policy refers to is there and may be used",
    reasons={
        "ResolvedRefs": "All references were found",
        "InvalidCACertificateRef": "An authority is missing or can't be used",
        "InvalidKind": "An authority is of a kind that can't be used",
    },
)
POLICY_ATTACHED = ConditionType(
    "Attached",
    meaning="How the policy stands among others of the same target",
    reasons={
        "Attached": "It holds as it is",
        "Merged": "Another policy of the same target adds to it",
        "Overridden": "Other policies of the same target say all that it says",
    },
)
