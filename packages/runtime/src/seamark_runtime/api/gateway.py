"""gateway.networking.k8s.io: classes, gateways, their listeners, and grants for references between namespaces."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from seamark_runtime.api.gatewayroutes import (
    BackendRef,
    GRPCRoute,
    HTTPRoute,
    HTTPRouteRule,
    HTTPRouteSpec,
    PathMatch,
    Route,
    RouteMatch,
    RouteParentStatus,
    RouteStatus,
    TCPRoute,
    TLSRoute,
)
from seamark_runtime.api.gatewayshared import GROUP, LocalObjectReference, ObjectReference, ParentReference
from seamark_runtime.api.meta import Condition, ManagedMeta, Object, Resource, Wire

__all__ = [
    "GROUP",
    "AllowedRoutes",
    "BackendRef",
    "GRPCRoute",
    "Gateway",
    "GatewayAddress",
    "GatewayClass",
    "GatewayClassSpec",
    "GatewayClassStatus",
    "GatewaySpec",
    "GatewayStatus",
    "HTTPRoute",
    "HTTPRouteRule",
    "HTTPRouteSpec",
    "LabelSelector",
    "Listener",
    "ListenerSet",
    "ListenerSetStatus",
    "ListenerStatus",
    "LocalObjectReference",
    "ObjectReference",
    "ParentReference",
    "PathMatch",
    "ReferenceGrant",
    "Route",
    "RouteGroupKind",
    "RouteMatch",
    "RouteNamespaces",
    "RouteParentStatus",
    "RouteStatus",
    "SupportedFeature",
    "TCPRoute",
    "TLSRoute",
]


class ParametersReference(Wire, frozen=True, kw_only=True):
    group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""


class GatewayClassSpec(Wire, frozen=True, kw_only=True):
    controller_name: str = ""
    parameters_ref: ParametersReference | None = None


class SupportedFeature(Wire, frozen=True, kw_only=True):
    name: str


class GatewayClassStatus(Wire, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    supported_features: tuple[SupportedFeature, ...] | None = None


class GatewayClass(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "GatewayClass", "gatewayclasses", namespaced=False)

    metadata: ManagedMeta = ManagedMeta()
    spec: GatewayClassSpec = GatewayClassSpec()
    status: GatewayClassStatus | None = None


# ---- listeners


class SelectorTerm(Wire, frozen=True, kw_only=True):
    key: str
    operator: str
    values: tuple[str, ...] | None = None


class LabelSelector(Wire, frozen=True, kw_only=True):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[SelectorTerm, ...] | None = None


class RouteNamespaces(Wire, frozen=True, kw_only=True):
    """From which namespaces routes, or listener sets, may come."""

    from_: str | None = msgspec.field(default=None, name="from")
    selector: LabelSelector | None = None


class RouteGroupKind(Wire, frozen=True, kw_only=True):
    kind: str
    group: str = GROUP


class AllowedRoutes(Wire, frozen=True, kw_only=True):
    namespaces: RouteNamespaces | None = None
    kinds: tuple[RouteGroupKind, ...] | None = None


class ListenerTLS(Wire, frozen=True, kw_only=True):
    mode: str = "Terminate"
    certificate_refs: tuple[ObjectReference, ...] | None = None
    options: dict[str, str] | None = None


class Listener(Wire, frozen=True, kw_only=True):
    name: str
    port: int
    protocol: str
    hostname: str = ""
    tls: ListenerTLS | None = None
    allowed_routes: AllowedRoutes | None = None


class ListenerStatus(Wire, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    supported_kinds: tuple[RouteGroupKind, ...] = ()
    attached_routes: int = 0
    conditions: tuple[Condition, ...] = ()


# ---- gateways


class AddressClaim(Wire, frozen=True, kw_only=True):
    type: str = "IPAddress"
    value: str = ""


class Infrastructure(Wire, frozen=True, kw_only=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    parameters_ref: ParametersReference | None = None


class AllowedListeners(Wire, frozen=True, kw_only=True):
    namespaces: RouteNamespaces | None = None


class FrontendValidation(Wire, frozen=True, kw_only=True):
    ca_certificate_refs: tuple[ObjectReference, ...] = msgspec.field(default=(), name="caCertificateRefs")
    mode: str = "AllowValidOnly"


class FrontendTLS(Wire, frozen=True, kw_only=True):
    validation: FrontendValidation | None = None


class PortTLS(Wire, frozen=True, kw_only=True):
    port: int
    tls: FrontendTLS = FrontendTLS()


class Frontend(Wire, frozen=True, kw_only=True):
    default: FrontendTLS = FrontendTLS()
    per_port: tuple[PortTLS, ...] | None = None


class BackendTLS(Wire, frozen=True, kw_only=True):
    client_certificate_ref: ObjectReference | None = None


class GatewayTLS(Wire, frozen=True, kw_only=True):
    backend: BackendTLS | None = None
    frontend: Frontend | None = None


class GatewaySpec(Wire, frozen=True, kw_only=True):
    gateway_class_name: str = ""
    listeners: tuple[Listener, ...] = ()
    addresses: tuple[AddressClaim, ...] | None = None
    infrastructure: Infrastructure | None = None
    allowed_listeners: AllowedListeners | None = None
    tls: GatewayTLS | None = None


class GatewayAddress(Wire, frozen=True, kw_only=True, omit_defaults=False):
    type: str = "IPAddress"
    value: str = ""


class GatewayStatus(Wire, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    addresses: tuple[GatewayAddress, ...] | None = None
    listeners: tuple[ListenerStatus, ...] | None = None
    attached_listener_sets: int | None = None


class Gateway(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "Gateway", "gateways")

    metadata: ManagedMeta = ManagedMeta()
    spec: GatewaySpec = GatewaySpec()
    status: GatewayStatus | None = None


# ---- listener sets


class ListenerSetSpec(Wire, frozen=True, kw_only=True):
    parent_ref: ParentReference = ParentReference(name="")
    listeners: tuple[Listener, ...] = ()


class ListenerSetStatus(Wire, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    listeners: tuple[ListenerStatus, ...] | None = None


class ListenerSet(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "ListenerSet", "listenersets")

    metadata: ManagedMeta = ManagedMeta()
    spec: ListenerSetSpec = ListenerSetSpec()
    status: ListenerSetStatus | None = None


# ---- grants


class GrantFrom(Wire, frozen=True, kw_only=True):
    group: str = ""
    kind: str = ""
    namespace: str = ""


class GrantTo(Wire, frozen=True, kw_only=True):
    group: str = ""
    kind: str = ""
    name: str | None = None


class ReferenceGrantSpec(Wire, frozen=True, kw_only=True):
    from_: tuple[GrantFrom, ...] = msgspec.field(default=(), name="from")
    to: tuple[GrantTo, ...] = ()


class ReferenceGrant(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "ReferenceGrant", "referencegrants")

    spec: ReferenceGrantSpec = ReferenceGrantSpec()
