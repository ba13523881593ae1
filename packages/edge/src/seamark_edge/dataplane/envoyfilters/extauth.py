"""Servers that decide on requests."""

from __future__ import annotations

from envoy.config.core.v3 import config_source_pb2
from envoy.extensions.filters.http.ext_authz.v3 import ext_authz_pb2

from seamark_edge.dataplane.envoyfilters.messages import exactly, grpc_service, http_uri
from seamark_edge.dataplane.filters import AuthService, Body, ExtAuth

NAME = "envoy.filters.http.ext_authz"
SERVICE = AuthService


def in_chain(service: AuthService) -> ext_authz_pb2.ExtAuthz:
    made = ext_authz_pb2.ExtAuthz(
        transport_api_version=config_source_pb2.V3,
        failure_mode_allow=service.fail_open,
        clear_route_cache=service.clear_route_cache,
    )
    made.status_on_error.code = service.error_status
    if service.headers:
        made.allowed_headers.patterns.extend(map(exactly, service.headers))
    if service.body is not None:
        made.with_request_body.CopyFrom(body(service.body))
    if service.prefix is None:
        made.grpc_service.CopyFrom(grpc_service(service.remote))
    else:
        made.http_service.server_uri.CopyFrom(http_uri(f"http://{service.remote.cluster}", service.remote))
        made.http_service.path_prefix = service.prefix
    return made


def on_route(setting: ExtAuth) -> ext_authz_pb2.ExtAuthzPerRoute:
    made = ext_authz_pb2.ExtAuthzPerRoute()
    made.check_settings.SetInParent()
    made.check_settings.context_extensions.update(setting.context)
    if setting.body is not None:
        made.check_settings.with_request_body.CopyFrom(body(setting.body))
    return made


def body(given: Body) -> ext_authz_pb2.BufferSettings:
    return ext_authz_pb2.BufferSettings(
        max_request_bytes=given.most, allow_partial_message=given.partial, pack_as_bytes=given.raw
    )
