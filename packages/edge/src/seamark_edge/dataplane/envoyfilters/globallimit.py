"""Rate limits that a server counts for all data planes together."""

from __future__ import annotations

from envoy.config.core.v3 import config_source_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.filters.http.ratelimit.v3 import rate_limit_pb2

from seamark_edge.dataplane.envoyfilters.messages import grpc_service, seconds
from seamark_edge.dataplane.filters import DescriptorEntry, GlobalLimit, LimitService

NAME = "envoy.filters.http.ratelimit"
SERVICE = LimitService


def in_chain(service: LimitService) -> rate_limit_pb2.RateLimit:
    made = rate_limit_pb2.RateLimit(domain=service.domain, failure_mode_deny=not service.fail_open)
    if service.remote.timeout is not None:
        made.timeout.CopyFrom(seconds(service.remote.timeout))
    made.rate_limit_service.transport_api_version = config_source_pb2.V3
    made.rate_limit_service.grpc_service.CopyFrom(grpc_service(service.remote))
    return made


def on_route(setting: GlobalLimit) -> rate_limit_pb2.RateLimitPerRoute:
    made = rate_limit_pb2.RateLimitPerRoute()
    for descriptor in setting.descriptors:
        limit = made.rate_limits.add()
        for entry in descriptor:
            add(limit, entry)
    return made


def add(limit: route_components_pb2.RateLimit, entry: DescriptorEntry) -> None:
    action = limit.actions.add()
    match entry.kind:
        case "Generic":
            action.generic_key.descriptor_key = entry.key
            action.generic_key.descriptor_value = entry.value
        case "Header":
            action.request_headers.header_name = entry.key
            action.request_headers.descriptor_key = entry.key
        case "Path":
            action.request_headers.header_name = ":path"
            action.request_headers.descriptor_key = "path"
        case _:
            action.remote_address.SetInParent()
