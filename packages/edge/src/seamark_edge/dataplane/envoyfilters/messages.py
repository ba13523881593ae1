"""Parts of Envoy's messages that many of its resources have."""

from __future__ import annotations

from typing import Any

from envoy.config.core.v3 import base_pb2, grpc_service_pb2, http_uri_pb2
from envoy.type.matcher.v3 import string_pb2
from envoy.type.v3 import percent_pb2
from google.protobuf import any_pb2, duration_pb2

from seamark_edge.dataplane.filters import Remote, TextRule


def packed(message: Any) -> any_pb2.Any:
    wrapped = any_pb2.Any()
    wrapped.Pack(message, deterministic=True)
    return wrapped


def seconds(value: float) -> duration_pb2.Duration:
    whole = int(value)
    return duration_pb2.Duration(seconds=whole, nanos=round((value - whole) * 1e9))


def percent(value: int) -> percent_pb2.FractionalPercent:
    return percent_pb2.FractionalPercent(numerator=value, denominator=percent_pb2.FractionalPercent.HUNDRED)


def share(value: int) -> base_pb2.RuntimeFractionalPercent:
    """A percentage of requests; no runtime key changes it."""
    return base_pb2.RuntimeFractionalPercent(default_value=percent(value))


def matcher(rule: TextRule) -> string_pb2.StringMatcher:
    made = string_pb2.StringMatcher(ignore_case=rule.ignore_case)
    if rule.kind == "regex":
        made.safe_regex.regex = rule.value
    else:
        setattr(made, rule.kind, rule.value)
    return made


def exactly(text: str) -> string_pb2.StringMatcher:
    return string_pb2.StringMatcher(exact=text, ignore_case=True)


def grpc_service(remote: Remote) -> grpc_service_pb2.GrpcService:
    made = grpc_service_pb2.GrpcService()
    made.envoy_grpc.cluster_name = remote.cluster
    made.envoy_grpc.authority = remote.authority
    if remote.timeout is not None:
        made.timeout.CopyFrom(seconds(remote.timeout))
    return made


def http_uri(url: str, remote: Remote) -> http_uri_pb2.HttpUri:
    return http_uri_pb2.HttpUri(uri=url, cluster=remote.cluster, timeout=seconds(remote.timeout or 0.0))
