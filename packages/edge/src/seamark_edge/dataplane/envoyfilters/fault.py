"""Delays, errors and slow responses on purpose."""

from __future__ import annotations

from envoy.extensions.filters.http.fault.v3 import fault_pb2

from seamark_edge.dataplane.envoyfilters.messages import percent, seconds
from seamark_edge.dataplane.filters import Fault

NAME = "envoy.filters.http.fault"


def idle() -> fault_pb2.HTTPFault:
    return fault_pb2.HTTPFault()


def on_route(setting: Fault) -> fault_pb2.HTTPFault:
    made = fault_pb2.HTTPFault()
    if setting.delay is not None:
        made.delay.fixed_delay.CopyFrom(seconds(setting.delay))
        made.delay.percentage.CopyFrom(percent(setting.delayed))
    if setting.http_status is not None:
        made.abort.http_status = setting.http_status
    if setting.grpc_status is not None:
        made.abort.grpc_status = setting.grpc_status
    if made.HasField("abort"):
        made.abort.percentage.CopyFrom(percent(setting.aborted))
    if setting.rate is not None:
        made.response_rate_limit.fixed_limit.limit_kbps = setting.rate
        made.response_rate_limit.percentage.CopyFrom(percent(setting.limited))
    if setting.most_active is not None:
        made.max_active_faults.value = setting.most_active
    return made
