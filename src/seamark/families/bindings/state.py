"""What the decisions of the bindings family are made from, and every word that they can say."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.bindings import BoundEndpoint
from seamark.api.meta import Key
from seamark.core.apply import Refusal
from seamark.core.cache import Index
from seamark.core.calls import Results
from seamark.core.conditions import ConditionType

UPSTREAM = "upstream service"
TARGET = "target service"
FINALIZER = "bindings.k8s.ngrok.com/services"  # not shared with the forwarder: each lets go of its own

SERVICES_CREATED = ConditionType(
    "ServicesCreated",
    meaning="Target and upstream Service are there, as they should be",
    reasons={
        "ServicesCreated": "The API server holds both Services",
        "UpstreamServiceCreationFailed": "The upstream Service was refused; the message has the API server's words",
        "TargetServiceCreationFailed": "The target Service was refused; the message has the API server's words",
        "TargetServiceConflict": "The target's name or port belongs to somebody else",
        "NamespaceNotAllowed": "The installation does not allow targets in that namespace",
        "ServicesNotCreated": "The Services are not there yet",
    },
    awaiting="ServicesNotCreated",
    first_message="Services not yet created",
)
CONNECTIVITY_VERIFIED = ConditionType(
    "ConnectivityVerified",
    meaning="A connection through the upstream Service succeeded, not long ago",
    reasons={
        "ConnectivityVerified": "The last probe connected",
        "ConnectivityFailed": "The last probe failed; the message says how",
        "ConnectivityNotVerified": "No probe has answered yet, or not for a while",
    },
    awaiting="ConnectivityNotVerified",
    first_message="Connectivity not yet verified",
)
READY = ConditionType(
    "Ready",
    meaning="Pods can reach the endpoint",
    reasons={
        "BoundEndpointReady": "Services are there and a connection succeeded",
        "ServicesNotCreated": "The Services are not there yet",
        "ConnectivityNotVerified": "No probe has answered yet, or not for a while",
    },
    summary=True,
    awaiting="ServicesNotCreated",
    first_message="Services not yet created",
)
CONDITIONS = (SERVICES_CREATED, CONNECTIVITY_VERIFIED, READY)


@dataclass(frozen=True)
class Settings:
    """What the installation decides."""

    namespace: str = "seamark-system"
    cluster_domain: str = "cluster.local"
    allowed_namespaces: tuple[str, ...] = ()  # empty: all
    probe_every: float = 30.0
    shelf_life: float = 120.0

    def allows(self, namespace: str) -> bool:
        return not self.allowed_namespaces or namespace in self.allowed_namespaces


@dataclass(frozen=True, order=True)
class PortName:
    """A port of a group, as its Services name it: `<scheme>-<port>`."""

    port: int
    scheme: str

    def __str__(self) -> str:
        return f"{self.scheme}-{self.port}"


@dataclass(frozen=True)
class Member:
    """A BoundEndpoint of a group, with the port that is its own, or the one to whom it lost it."""

    endpoint: BoundEndpoint
    port: PortName
    lost_to: Key | None = None


@dataclass(frozen=True)
class GroupReport:
    """What a group says about one of its members."""

    ports: tuple[tuple[PortName, int], ...]  # every port of the group, and where its forwarder listens
    target: Key | None = None  # the target Service, once it is there
    refusal: Refusal | None = None
    conflict: str = ""


@dataclass(frozen=True)
class Seen:
    endpoint: BoundEndpoint
    group: GroupReport | None  # None: the group has not looked yet
    results: Results
    settings: Settings


@dataclass(frozen=True)
class Probe:
    """A connection to the upstream Service, by its address in the cluster."""

    host: str
    port: int


def group_of(endpoint: BoundEndpoint) -> Key:
    return Key(endpoint.spec.target.namespace, endpoint.spec.target.service)


GROUP_MEMBERS = Index(BoundEndpoint, lambda endpoint: (group_of(endpoint),), "members of a service.namespace")
