"""What the decisions about a BoundEndpoint are made from, and all of its conditions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from seamark.families.bindings.model.entries import GroupReport
from seamark.families.bindings.model.installation import Installed
from seamark.families.bindings.model.options import Options
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType

UPSTREAM = "upstream service"  # the role of the child

SERVICES_CREATED = ConditionType(
    "ServicesCreated",
    meaning="Target and upstream Service exist as desired",
    reasons={
        "ServicesCreated": "The API server holds both Services",
        "UpstreamServiceCreationFailed": "The upstream Service was refused; the message has the API server's error",
        "TargetServiceCreationFailed": "The target Service was refused; the message has the API server's error",
        "TargetServiceConflict": "The target's name or port belongs to another owner",
        "PortConflict": "An older BoundEndpoint has the port on which the forwarders should listen",
        "NamespaceNotAllowed": "The installation does not allow targets in that namespace",
        "ServicesNotCreated": "The Services do not exist yet",
    },
    awaiting="ServicesNotCreated",
    first_message="Services not yet created",
)
CONNECTIVITY_VERIFIED = ConditionType(
    "ConnectivityVerified",
    meaning="The edge confirmed through the upstream Service that the far upstream accepts, within the shelf life",
    reasons={
        "ConnectivityVerified": "The edge confirmed the last probe: the far upstream accepted a connection",
        "ConnectivityFailed": "The last probe failed; the message says how, and when one last succeeded",
        "ConnectivityNotVerified": "No probe has answered yet, or not for a while",
        "UpstreamNotConfirmed": "The edge takes connections, and does not report whether the far upstream accepts them",
        "EndpointGone": "The edge lists no endpoint any more; the object is deleted after a grace period",
    },
    awaiting="ConnectivityNotVerified",
    first_message="Connectivity not yet verified",
)
READY = ConditionType(
    "Ready",
    meaning="Pods can reach the endpoint",
    reasons={
        "BoundEndpointReady": "The Services exist and a connection succeeded",
        "ServicesNotCreated": "The Services do not exist yet",
        "ConnectivityNotVerified": "No probe has answered yet, or not for a while",
        "UpstreamNotConfirmed": "The edge takes connections, and does not report whether the far upstream accepts them",
        "EndpointGone": "The edge lists no endpoint any more; the object is deleted after a grace period",
    },
    summary=True,
    awaiting="ServicesNotCreated",
    first_message="Services not yet created",
)
CONDITIONS = (SERVICES_CREATED, CONNECTIVITY_VERIFIED, READY)


@dataclass(frozen=True)
class Seen:
    """A BoundEndpoint, its group's report about it, its upstream Service, and the results of its probe."""

    endpoint: BoundEndpoint
    group: GroupReport | None  # None: the group has not reported yet
    results: Results
    options: Options
    upstream: Service | None = None
    installed: Installed = Installed.PRESENT
    gone: str = ""  # since when the edge lists no endpoint of it; "" while it lists one, or is not known to
    projected: bool = False  # made, and removed, by the projection of a poll
    port_held_by: Key | None = None
    target_left: bool = False  # it is being deleted, and the target that must be deleted with it still exists
    forbidden: tuple[str, ...] = ()  # namespaces in which we may not create Services, by access review


@dataclass(frozen=True)
class Verified:
    """The edge answered a probe. The same answer later is the same result, so that it requeues no BoundEndpoint.

    Where the far upstream is not `confirmed`, the edge took the connection and reports nothing of what is behind it.
    """

    at: str = field(default="", compare=False)
    confirmed: bool = True


@dataclass(frozen=True)
class Probe:
    """A connection to the upstream Service, by the address that the API server gave it."""

    ANSWER: ClassVar[type] = Verified

    key: Key
    address: str
    port: int
    listens: int  # its destination: if that changes, a verification is void
