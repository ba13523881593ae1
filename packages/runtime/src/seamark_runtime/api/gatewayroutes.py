"""gateway.networking.k8s.io: the routes."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from seamark_runtime.api.gatewayshared import GROUP, LocalObjectReference, ParentReference
from seamark_runtime.api.meta import Condition, Object, Resource, Wire


class RouteParentStatus(Wire, frozen=True, kw_only=True):
    parent_ref: ParentReference
    controller_name: str
    conditions: tuple[Condition, ...] = ()


class RouteStatus(Wire, frozen=True, kw_only=True, omit_defaults=False):
    parents: tuple[RouteParentStatus, ...] | None = None


class Route(Object, frozen=True, kw_only=True):
    """What all routes have in common; each kind has a spec of its own."""

    spec: Any = None
    status: RouteStatus | None = None


# ---- what a request must look like


class PathMatch(Wire, frozen=True, kw_only=True):
    type: str = "PathPrefix"
    value: str = "/"


class ValueMatch(Wire, frozen=True, kw_only=True):
    """Of a header or a query parameter."""

    name: str
    value: str = ""
    type: str = "Exact"


class RouteMatch(Wire, frozen=True, kw_only=True):
    path: PathMatch | None = None
    headers: tuple[ValueMatch, ...] | None = None
    query_params: tuple[ValueMatch, ...] | None = None
    method: str | None = None


class GRPCMethodMatch(Wire, frozen=True, kw_only=True):
    type: str = "Exact"
    service: str | None = None
    method: str | None = None


class GRPCRouteMatch(Wire, frozen=True, kw_only=True):
    method: GRPCMethodMatch | None = None
    headers: tuple[ValueMatch, ...] | None = None


# ---- what happens to it


class BackendObjectReference(Wire, frozen=True, kw_only=True):
    name: str
    group: str | None = None
    kind: str | None = None
    namespace: str | None = None
    port: int | None = None


class Header(Wire, frozen=True, kw_only=True):
    name: str
    value: str = ""


class HeaderChange(Wire, frozen=True, kw_only=True):
    set: tuple[Header, ...] | None = None
    add: tuple[Header, ...] | None = None
    remove: tuple[str, ...] | None = None


class PathModifier(Wire, frozen=True, kw_only=True):
    type: str
    replace_full_path: str | None = None
    replace_prefix_match: str | None = None


class RequestRedirect(Wire, frozen=True, kw_only=True):
    scheme: str | None = None
    hostname: str | None = None
    path: PathModifier | None = None
    port: int | None = None
    status_code: int = 302


class URLRewrite(Wire, frozen=True, kw_only=True):
    hostname: str | None = None
    path: PathModifier | None = None


class Fraction(Wire, frozen=True, kw_only=True):
    numerator: int = 0
    denominator: int = 100


class RequestMirror(Wire, frozen=True, kw_only=True):
    backend_ref: BackendObjectReference
    percent: int | None = None
    fraction: Fraction | None = None


class CORSFilter(Wire, frozen=True, kw_only=True):
    allow_origins: tuple[str, ...] | None = None
    allow_credentials: bool | None = None
    allow_methods: tuple[str, ...] | None = None
    allow_headers: tuple[str, ...] | None = None
    expose_headers: tuple[str, ...] | None = None
    max_age: int = 5


class RouteFilter(Wire, frozen=True, kw_only=True):
    type: str
    request_header_modifier: HeaderChange | None = None
    response_header_modifier: HeaderChange | None = None
    request_mirror: RequestMirror | None = None
    request_redirect: RequestRedirect | None = None
    url_rewrite: URLRewrite | None = msgspec.field(default=None, name="urlRewrite")
    cors: CORSFilter | None = None
    external_auth: dict[str, Any] | None = None
    extension_ref: LocalObjectReference | None = None


class BackendRef(BackendObjectReference, frozen=True, kw_only=True):
    weight: int = 1
    filters: tuple[RouteFilter, ...] | None = None


class RouteTimeouts(Wire, frozen=True, kw_only=True):
    request: str | None = None
    backend_request: str | None = None


class RouteRetry(Wire, frozen=True, kw_only=True):
    codes: tuple[int, ...] | None = None
    attempts: int | None = None
    backoff: str | None = None


class HTTPRouteRule(Wire, frozen=True, kw_only=True):
    name: str | None = None
    matches: tuple[RouteMatch, ...] | None = None
    filters: tuple[RouteFilter, ...] | None = None
    backend_refs: tuple[BackendRef, ...] = ()
    timeouts: RouteTimeouts | None = None
    retry: RouteRetry | None = None
    session_persistence: dict[str, Any] | None = None


class HTTPRouteSpec(Wire, frozen=True, kw_only=True):
    parent_refs: tuple[ParentReference, ...] = ()
    hostnames: tuple[str, ...] = ()
    rules: tuple[HTTPRouteRule, ...] = ()


class HTTPRoute(Route, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "HTTPRoute", "httproutes")

    spec: HTTPRouteSpec = HTTPRouteSpec()


class GRPCRouteRule(Wire, frozen=True, kw_only=True):
    name: str | None = None
    matches: tuple[GRPCRouteMatch, ...] | None = None
    filters: tuple[RouteFilter, ...] | None = None
    backend_refs: tuple[BackendRef, ...] = ()
    session_persistence: dict[str, Any] | None = None


class GRPCRouteSpec(Wire, frozen=True, kw_only=True):
    parent_refs: tuple[ParentReference, ...] = ()
    hostnames: tuple[str, ...] = ()
    rules: tuple[GRPCRouteRule, ...] = ()


class GRPCRoute(Route, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "GRPCRoute", "grpcroutes")

    spec: GRPCRouteSpec = GRPCRouteSpec()


class StreamRule(Wire, frozen=True, kw_only=True):
    """Of a route that knows connections only."""

    name: str | None = None
    backend_refs: tuple[BackendRef, ...] = ()


class TLSRouteSpec(Wire, frozen=True, kw_only=True):
    parent_refs: tuple[ParentReference, ...] = ()
    hostnames: tuple[str, ...] = ()
    rules: tuple[StreamRule, ...] = ()


class TLSRoute(Route, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "TLSRoute", "tlsroutes")

    spec: TLSRouteSpec = TLSRouteSpec()


class TCPRouteSpec(Wire, frozen=True, kw_only=True):
    parent_refs: tuple[ParentReference, ...] = ()
    rules: tuple[StreamRule, ...] = ()


class TCPRoute(Route, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "TCPRoute", "tcproutes")

    spec: TCPRouteSpec = TCPRouteSpec()
