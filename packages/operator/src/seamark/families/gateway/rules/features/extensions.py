"""GatewayExtensions as services for the data plane. What can't be served is reported by the policy that uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from seamark.api.gatewayextensions import (
    ExtAuthProvider,
    GatewayExtensionSpec,
    GrpcService,
    RateLimitProvider,
    RequestBody,
)
from seamark.api.trafficfilters import ExtensionReference
from seamark.families.gateway.rules.features.references import Extension, References
from seamark.families.gateway.rules.features.values import most, required
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import filters

P = TypeVar("P")
S = TypeVar("S")
MOST_HEADERS, MOST_BODY, MOST_DOMAIN = 64, 2**30, 253
LEAST_TIMEOUT = 0.001  # seconds: without a timeout a server that hangs would hold requests without end


def service(
    field: str,
    ref: ExtensionReference | None,
    references: References,
    kind: str,
    provider: Callable[[GatewayExtensionSpec], P | None],
    read: Callable[[Extension, P], S],
) -> S:
    """The service that an `extensionRef` leads to."""
    where = f"{field}.extensionRef"
    extension = references.extension(where, required(where, ref))
    given = provider(extension.spec)
    if given is None:
        raise Unsupported(f"{where}: GatewayExtension {extension.name} has no {kind}")
    try:
        return read(extension, given)
    except Unsupported as error:
        raise Unsupported(f"{where}: GatewayExtension {extension.name}: {error}") from None


def auth_service(extension: Extension, given: ExtAuthProvider) -> filters.AuthService:
    if (given.grpc_service is None) == (given.http_service is None):
        raise Unsupported("extAuth: exactly one of grpcService and httpService is required")
    headers = most("extAuth.headersToForward", given.headers_to_forward, MOST_HEADERS)
    return filters.AuthService(
        name=extension.name,
        remote=_auth_server(extension, given),
        prefix=_prefix(given),
        headers=tuple(limits.header_name(f"extAuth.headersToForward[{n}]", name) for n, name in enumerate(headers)),
        fail_open=given.fail_open,
        clear_route_cache=given.clear_route_cache,
        body=body("extAuth.withRequestBody", given.with_request_body),
        error_status=limits.integer("extAuth.statusOnError", given.status_on_error, 400, 599),
    )


def _auth_server(extension: Extension, given: ExtAuthProvider) -> filters.Remote:
    if given.http_service is None:
        return grpc(extension, "extAuth.grpcService", required("extAuth.grpcService", given.grpc_service))
    cluster = extension.cluster("extAuth.httpService.backendRef", given.http_service.backend_ref, "")
    timeout = limits.duration(
        "extAuth.httpService.requestTimeout", given.http_service.request_timeout, least=LEAST_TIMEOUT
    )
    return filters.Remote(cluster, timeout=timeout)


def _prefix(given: ExtAuthProvider) -> str | None:
    if given.http_service is None:
        return None
    prefix = given.http_service.path_prefix
    return limits.matched_path("extAuth.httpService.pathPrefix", prefix) if prefix else ""


def body(field: str, given: RequestBody | None) -> filters.Body | None:
    if given is None:
        return None
    count = limits.integer(f"{field}.maxRequestBytes", given.max_request_bytes, 1, MOST_BODY)
    return filters.Body(count, given.allow_partial_message, given.pack_as_bytes)


def grpc(extension: Extension, field: str, given: GrpcService, timeout: str | None = None) -> filters.Remote:
    authority = given.authority
    if authority:
        limits.path(f"{field}.authority", authority)
    given_timeout = given.request_timeout if given.request_timeout is not None else timeout
    return filters.Remote(
        cluster=extension.cluster(f"{field}.backendRef", given.backend_ref, "http2"),
        authority=authority,
        timeout=limits.duration(f"{field}.requestTimeout", given_timeout, least=LEAST_TIMEOUT),
    )


def limit_service(extension: Extension, given: RateLimitProvider) -> filters.LimitService:
    if not 0 < len(given.domain) <= MOST_DOMAIN:
        raise Unsupported(f"rateLimit.domain: must have from 1 to {MOST_DOMAIN} characters")
    limits.duration("rateLimit.timeout", given.timeout, least=LEAST_TIMEOUT)
    remote = grpc(extension, "rateLimit.grpcService", given.grpc_service, given.timeout)
    return filters.LimitService(
        extension.name, remote, limits.header_value("rateLimit.domain", given.domain), given.fail_open
    )
