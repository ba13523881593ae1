"""The conditions of a route, and what its attachment and its status are judged from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seamark.families.gateway.model.dependencies import Counts
from seamark.families.gateway.model.routes import AttachedRoute, Backend, BackendHealth, RouteParents, RouteView
from seamark.gatewayapi.attachment import AttachingRoute
from seamark.gatewayapi.listeners import GatewayListeners, ListenerSpec
from seamark.gatewayapi.references import UnresolvedReference
from seamark_runtime.api.gateway import ParentReference, Route
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.conditions import ConditionType

MOST_PARENTS = 32  # in one status

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
    meaning="Everything the route refers to exists and may be used",
    reasons={
        "ResolvedRefs": "All references were found",
        "BackendNotFound": "A backend does not exist",
        "RefNotPermitted": "Something of another namespace is used without a ReferenceGrant",
        "InvalidKind": "A reference is of a kind that can't be used",
        "InvalidExtensionRef": "An extension that a rule names can't be used",
        "UnsupportedProtocol": "A backend speaks a protocol that can't be used",
    },
)
BACKENDS_READY = ConditionType(
    "seamark.dev/BackendsReady",
    meaning="Every backend of every rule has a ready endpoint that accepts connections",
    reasons={
        "BackendsReady": "Of every backend, a connection to a ready endpoint was accepted",
        "NoBackends": "No rule of the route needs a backend",
        "BackendNotResolved": "A reference can't be used; ResolvedRefs has the cause",
        "NoReadyEndpoint": "A backend has no ready endpoint",
        "AddressNotAllowed": "A backend has endpoints at link-local or metadata addresses alone: none is connected to",
        "EndpointsRefuse": "The endpoints of a backend refuse connections: its target port may be wrong",
        "EndpointsSilent": "The endpoints of a backend do not answer",
        "NoDataPlane": "The data plane is in memory: nothing connects to backends",
        "NotVerified": "The endpoints of a backend were not verified for longer than the evidence is valid",
        "Pending": "The endpoints of a backend are being probed",
    },
)
PARTIALLY_INVALID = ConditionType(
    "PartiallyInvalid",
    meaning="Some rules of the route can't be served; the others are",
    reasons={"UnsupportedValue": "A rule has a value that can't be served"},
)


@dataclass(frozen=True)
class Candidate:
    """A parent reference, with the listeners of the gateway of ours that it leads to."""

    parent: ParentReference
    gateway: GatewayListeners
    own: tuple[ListenerSpec, ...]  # those of the very parent that it names


@dataclass(frozen=True)
class SeenAttachment:
    """A route with everything that decides about its attachment."""

    key: Key
    view: RouteView
    attaching: AttachingRoute
    candidates: tuple[Candidate, ...] = ()
    missing: tuple[str, ...] = ()  # parents that do not exist, as kind and name
    invalid: tuple[str, ...] = ()  # what is wrong with the names of parents
    unresolved: tuple[UnresolvedReference, ...] = ()
    broken: tuple[str, ...] = ()  # what is wrong with rules that are not served


@dataclass(frozen=True)
class Attachments:
    """The result: what is published about the route, and for each gateway that it is attached to."""

    key: Key
    parents: RouteParents
    attached: Mapping[Key, AttachedRoute]


@dataclass(frozen=True)
class Seen:
    """A route, and all entries about it."""

    route: Route
    controller_name: str
    parents: RouteParents
    refusals: Mapping[Key, str] = field(default_factory=dict)  # why it is not served, by gateway
    previous: Mapping[ParentReference, Condition] = field(default_factory=dict)  # Accepted=False before a restart
    health: Mapping[Backend, BackendHealth] = field(default_factory=dict)  # of those backends that are known
    foreign: int = 0  # entries of other controllers in its status
    concerns_us: bool = True  # it has a parent of ours, or an entry of ours

    @property
    def room(self) -> int:
        return max(0, MOST_PARENTS - self.foreign)


@dataclass(frozen=True)
class SeenCounts:
    """How many routes each listener of a gateway has."""

    key: Key
    counts: Counts
