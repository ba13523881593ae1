"""gateway.networking.k8s.io, as far as Seamark reads and says it."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from seamark.api.meta import Condition, Object, Resource, Wire

GROUP = "gateway.networking.k8s.io"


class GatewayClassSpec(Wire, frozen=True, kw_only=True):
    controller_name: str = ""


class GatewayClassStatus(Wire, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()


class GatewayClass(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "GatewayClass", "gatewayclasses", namespaced=False)

    spec: GatewayClassSpec = GatewayClassSpec()
    status: GatewayClassStatus | None = None


class LabelSelector(Wire, frozen=True, kw_only=True):
    match_labels: dict[str, str] | None = None


class RouteNamespaces(Wire, frozen=True, kw_only=True):
    who: str = msgspec.field(default="Same", name="from")
    selector: LabelSelector | None = None


class RouteGroupKind(Wire, frozen=True, kw_only=True):
    kind: str
    group: str = GROUP


class AllowedRoutes(Wire, frozen=True, kw_only=True):
    namespaces: RouteNamespaces | None = None
    kinds: tuple[RouteGroupKind, ...] | None = None


class Listener(Wire, frozen=True, kw_only=True):
    name: str
    port: int
    protocol: str
    hostname: str = ""
    allowed_routes: AllowedRoutes | None = None


class GatewaySpec(Wire, frozen=True, kw_only=True):
    gateway_class_name: str = ""
    listeners: tuple[Listener, ...] = ()


class ListenerStatus(Wire, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    supported_kinds: tuple[RouteGroupKind, ...] = ()
    attached_routes: int = 0
    conditions: tuple[Condition, ...] = ()


class GatewayStatus(Wire, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    listeners: tuple[ListenerStatus, ...] | None = None


class Gateway(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "Gateway", "gateways")

    spec: GatewaySpec = GatewaySpec()
    status: GatewayStatus | None = None


class ParentReference(Wire, frozen=True, kw_only=True):
    name: str
    group: str | None = None
    kind: str | None = None
    namespace: str | None = None
    section_name: str | None = None
    port: int | None = None


class BackendRef(Wire, frozen=True, kw_only=True):
    name: str
    group: str | None = None
    kind: str | None = None
    namespace: str | None = None
    port: int | None = None


class PathMatch(Wire, frozen=True, kw_only=True):
    type: str = "PathPrefix"
    value: str = "/"


class RouteMatch(Wire, frozen=True, kw_only=True):
    path: PathMatch | None = None


class HTTPRouteRule(Wire, frozen=True, kw_only=True):
    matches: tuple[RouteMatch, ...] | None = None
    backend_refs: tuple[BackendRef, ...] = ()


class HTTPRouteSpec(Wire, frozen=True, kw_only=True):
    parent_refs: tuple[ParentReference, ...] = ()
    hostnames: tuple[str, ...] = ()
    rules: tuple[HTTPRouteRule, ...] = ()


class RouteParentStatus(Wire, frozen=True, kw_only=True):
    parent_ref: ParentReference
    controller_name: str
    conditions: tuple[Condition, ...] = ()


class RouteStatus(Wire, frozen=True, kw_only=True, omit_defaults=False):
    parents: tuple[RouteParentStatus, ...] | None = None


class HTTPRoute(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "HTTPRoute", "httproutes")

    spec: HTTPRouteSpec = HTTPRouteSpec()
    status: RouteStatus | None = None
