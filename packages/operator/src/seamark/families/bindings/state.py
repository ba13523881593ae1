"""What the decisions about a BoundEndpoint are made from, and all of its conditions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Refusal
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType

UPSTREAM = "upstream service"
TARGET = "target service"
FINALIZER = "bindings.k8s.ngrok.com/services"  # ours alone; forwarders have none
FORMER_FINALIZER = "k8s.ngrok.com/finalizer"

SERVICES_CREATED = ConditionType(
    "ServicesCreated",
    meaning="Target and upstream Service are there, as they should be",
    reasons={
        "ServicesCreated": "The API server holds both Services",
        "UpstreamServiceCreationFailed": "The upstream Service was refused; the message has the API server's words",
        "TargetServiceCreationFailed": "The target Service was refused; the message has the API server's words",
        "TargetServiceConflict": "The target's name or port belongs to somebody else",
        "PortConflict": "An older BoundEndpoint has the port on which the forwarders should listen",
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
        "ConnectivityFailed": "The last probe failed; the message says how, and when one last connected",
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
    operator: str = "seamark"  # the name of the KubernetesOperator that is this installation
    cluster_domain: str = "cluster.local"
    allowed_namespaces: tuple[str, ...] = ()  # empty: all
    first_port: int = 10000
    last_port: int = 65535
    poll: float = 10.0
    probe_every: float = 30.0
    probe_limit: float = 10.0
    shelf_life: float = 120.0
    edge_ca: str = ""  # PEM: what the edge's ingress is trusted by; empty for the system's roots

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.operator)

    def allows(self, namespace: str) -> bool:
        return not self.allowed_namespaces or namespace in self.allowed_namespaces


class Installed(Enum):
    """How it stands with the KubernetesOperator of this installation."""

    ABSENT = "there is none: objects are served, and nobody holds them"
    PRESENT = "it is there"
    DELETING = "it goes, and what was made here goes with it"
    RETAINING = "it goes, and what was made here stays, released"


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
    displaced: bool = False  # where its forwarders should listen, those of an older one do


@dataclass(frozen=True)
class GroupReport:
    """What a group says about one of its members."""

    ports: tuple[tuple[PortName, int], ...]  # every port of the group, and where its forwarder listens
    target: Key | None = None  # the target Service, once it is there
    refusal: Refusal | None = None
    conflict: str = ""
    undeleted: str = ""  # why the target is still there, to members that are being deleted


@dataclass(frozen=True)
class Seen:
    """A BoundEndpoint, its group's word about it, its upstream Service as it stands, and the answers to its probe."""

    endpoint: BoundEndpoint
    group: GroupReport | None  # None: the group has not looked yet
    results: Results
    settings: Settings
    upstream: Service | None = None
    installed: Installed = Installed.PRESENT
    projected: bool = False  # the poller made it, and takes it away
    port_held_by: Key | None = None
    target_left: bool = False  # it goes, and the target that must go with it is still there
    forbidden: tuple[str, ...] = ()  # namespaces in which we may not create Services, by access review
    last_verified: str = ""


@dataclass(frozen=True)
class Probe:
    """A connection to the upstream Service, by the address that the API server gave it."""

    key: Key
    address: str
    port: int
    listens: int  # its destination: if that changes, a verification is void


def group_of(endpoint: BoundEndpoint) -> Key:
    return Key(endpoint.spec.target.namespace, endpoint.spec.target.service)


GROUP_MEMBERS = Index(BoundEndpoint, lambda endpoint: (group_of(endpoint),), "members of a service.namespace")
BY_PORT = Index(BoundEndpoint, lambda one: ((one.metadata.namespace, one.spec.port),), "who listens on a port")
IN_NAMESPACE = Index(BoundEndpoint, lambda endpoint: (endpoint.metadata.namespace,), "of an installation")
