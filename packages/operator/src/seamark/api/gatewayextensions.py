"""gateway.kgateway.dev: GatewayExtension, a service that policies use.

It is read as it stands, so that what is not served can be named.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from seamark.api.strict import Strict
from seamark_runtime.api.gatewayroutes import BackendObjectReference
from seamark_runtime.api.meta import Object, Resource

GROUP = "gateway.kgateway.dev"


class GatewayExtension(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1alpha1", "GatewayExtension", "gatewayextensions")

    spec: dict[str, Any] | None = None


class GrpcService(Strict, frozen=True, kw_only=True):
    backend_ref: BackendObjectReference
    authority: str = ""
    request_timeout: str | None = None


class HttpService(Strict, frozen=True, kw_only=True):
    backend_ref: BackendObjectReference
    path_prefix: str = ""
    request_timeout: str = "2s"


class RequestBody(Strict, frozen=True, kw_only=True):
    """The first bytes of a request's body, which an authorization server gets, too."""

    max_request_bytes: int
    allow_partial_message: bool = False
    pack_as_bytes: bool = False


class ExtAuthProvider(Strict, frozen=True, kw_only=True):
    """A server that decides on every request."""

    grpc_service: GrpcService | None = None
    http_service: HttpService | None = None
    headers_to_forward: tuple[str, ...] | None = None
    fail_open: bool = False
    clear_route_cache: bool = False
    with_request_body: RequestBody | None = None
    status_on_error: int = 403


class RateLimitProvider(Strict, frozen=True, kw_only=True):
    """A server that counts the requests of all data planes together."""

    grpc_service: GrpcService
    domain: str
    fail_open: bool = True
    timeout: str = "100ms"


class ProcessingMode(Strict, frozen=True, kw_only=True):
    """Which parts of requests and responses a server gets."""

    request_header_mode: str = "SEND"
    response_header_mode: str = "SEND"
    request_body_mode: str = "NONE"
    response_body_mode: str = "NONE"
    request_trailer_mode: str = "SKIP"
    response_trailer_mode: str = "SKIP"


class ExtProcProvider(Strict, frozen=True, kw_only=True):
    """A server that sees requests and responses, and changes them."""

    grpc_service: GrpcService
    fail_open: bool = True
    processing_mode: ProcessingMode = ProcessingMode()
    message_timeout: str | None = None


class HeaderSource(Strict, frozen=True, kw_only=True):
    header: str = "Authorization"
    prefix: str = "Bearer "


class TokenSource(Strict, frozen=True, kw_only=True):
    header: HeaderSource | None = None
    query_parameter: str | None = None


class ClaimToHeader(Strict, frozen=True, kw_only=True):
    name: str
    header: str


class ConfigMapReference(Strict, frozen=True, kw_only=True):
    name: str


class LocalKeys(Strict, frozen=True, kw_only=True):
    inline: str | None = None
    config_map_ref: ConfigMapReference | None = None


class RemoteKeys(Strict, frozen=True, kw_only=True):
    url: str
    backend_ref: BackendObjectReference
    cache_duration: str = "5m"


class KeySet(Strict, frozen=True, kw_only=True):
    local: LocalKeys | None = None
    remote: RemoteKeys | None = None


class TokenProvider(Strict, frozen=True, kw_only=True):
    """Whose tokens are valid: the issuer, the audiences, and the keys that sign them."""

    name: str
    jwks: KeySet
    issuer: str = ""
    audiences: tuple[str, ...] | None = None
    token_source: TokenSource | None = None
    claims_to_headers: tuple[ClaimToHeader, ...] | None = None
    forward_token: bool = False


class TokenProviders(Strict, frozen=True, kw_only=True):
    """A token of one of them is needed; with AllowMissing a request without any is let in, too."""

    providers: tuple[TokenProvider, ...]
    validation_mode: str = "Strict"


class GatewayExtensionSpec(Strict, frozen=True, kw_only=True):
    """What of a GatewayExtension is served: one of them."""

    type: str | None = None
    ext_auth: ExtAuthProvider | None = None
    rate_limit: RateLimitProvider | None = None
    jwt: TokenProviders | None = None
    ext_proc: ExtProcProvider | None = None


def served(spec: dict[str, Any]) -> GatewayExtensionSpec:
    """The extension, or a `msgspec.ValidationError` that names the first field which is not served."""
    return msgspec.convert(spec, GatewayExtensionSpec)
