"""What the controllers of this family are built with: one of each per operator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark.families.gateway.model.addresses import AddressAssignment
from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.options import Options
from seamark.families.gateway.model.policies import PolicyTargets, TLSPolicyView, TrafficPolicyView
from seamark.families.gateway.model.results import ProgrammedResult, ProgrammedState, RefusedObjects
from seamark.families.gateway.model.routes import AttachedRoute, Backend, BackendHealth, RouteParents
from seamark.gatewayapi.listeners import GatewayListeners, ListenerId, ParentKey
from seamark_edge.dataplane.model import Origin
from seamark_edge.dataplane.protocol import Presence
from seamark_runtime.api.gateway import GRPCRoute, HTTPRoute, ListenerSet, Route, TCPRoute, TLSRoute
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Collection, Facts
from seamark_runtime.view import View

ROUTES: tuple[type[Route], ...] = (HTTPRoute, GRPCRoute, TLSRoute, TCPRoute)
OPTIONAL = (GRPCRoute, TLSRoute, TCPRoute, ListenerSet)  # kinds that a cluster may not have
Counts = Mapping[ListenerId, int]


def nothing_desired(_seen: object) -> Wanted:
    """The `desire` of controllers that only publish entries or a status."""
    return Wanted()


@dataclass(frozen=True)
class RouteCollections:
    """About the routes of one kind: apart, as routes of several kinds can have the same name."""

    kind: type[Route]
    parents: Collection[Key, RouteParents]  # by route
    attached: Collection[Key, AttachedRoute]  # by gateway
    used: Collection[Key, frozenset[Backend]]  # by Service: its backends that a route uses

    @classmethod
    def of(cls, kind: type[Route]) -> RouteCollections:
        plural = kind.RESOURCE.plural
        return cls(
            kind,
            Collection(f"parents of {plural}"),
            Collection(f"{plural} attached"),
            Collection(f"backends of {plural}"),
        )


@dataclass(frozen=True)
class PolicyResults:
    """What became of policies at each gateway: their conditions, by policy."""

    tls: Collection[Key, tuple[Condition, ...]] = field(default_factory=lambda: Collection("TLS policy results"))
    traffic: Collection[Key, tuple[Condition, ...]] = field(
        default_factory=lambda: Collection("traffic policy results")
    )


@dataclass(frozen=True)
class Dependencies:
    options: Options
    perform: Callable[[Any], Awaitable[Any]]  # performs the action of a call
    run_data_plane: Callable[[], Coroutine[Any, Any, None]]
    retain: Callable[[Callable[[Key], bool]], Coroutine[Any, Any, None]]  # these are not removed
    lasting_data_plane: bool  # it serves between the terms of this process, too
    presence: Facts[Key, Presence]  # which instances of the data plane serve a gateway
    refused: Facts[Key, RefusedObjects]  # by gateway
    competing: CompetingControllers
    addresses: Collection[Key, AddressAssignment]  # by gateway: where it is reached
    local_addresses: Collection[Key, AddressAssignment]  # where its Envoy listens on this machine
    gateways: Collection[Key, GatewayView] = field(default_factory=lambda: Collection("gateways"))
    listeners: Collection[ParentKey, GatewayListeners] = field(default_factory=lambda: Collection("listeners"))
    routes: tuple[RouteCollections, ...] = field(default_factory=lambda: tuple(map(RouteCollections.of, ROUTES)))
    counts: Collection[Key, Counts] = field(default_factory=lambda: Collection("routes counted"))  # by gateway
    tls_policies: Collection[Key, TLSPolicyView] = field(
        default_factory=lambda: Collection("backend TLS policies")
    )  # by Service
    tls_targets: Collection[Key, PolicyTargets] = field(default_factory=lambda: Collection("targets of TLS policies"))
    traffic_policies: Collection[str, TrafficPolicyView] = field(
        default_factory=lambda: Collection("traffic policies")
    )  # by namespace
    traffic_targets: Collection[Key, PolicyTargets] = field(
        default_factory=lambda: Collection("targets of traffic policies")
    )
    programmed: Collection[Key, ProgrammedResult] = field(
        default_factory=lambda: Collection("programmed")
    )  # by gateway
    refusals: Collection[Origin, str] = field(default_factory=lambda: Collection("refused objects"))
    backend_health: Collection[Backend, BackendHealth] = field(default_factory=lambda: Collection("backend health"))
    policy_results: PolicyResults = field(default_factory=PolicyResults)

    def is_served(self, view: View, gateway: Key) -> bool:
        """Whether the data plane has answered for this gateway, and serves it."""
        result = view.entry(self.programmed, gateway)
        return result is not None and result.state is ProgrammedState.SERVED
