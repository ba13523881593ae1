"""Requests that are passed on when they are complete."""

from __future__ import annotations

from envoy.extensions.filters.http.buffer.v3 import buffer_pb2

from seamark_edge.dataplane.filters import Buffer

NAME = "envoy.filters.http.buffer"


def idle() -> buffer_pb2.Buffer:
    made = buffer_pb2.Buffer()
    made.max_request_bytes.value = 1
    return made


def on_route(setting: Buffer) -> buffer_pb2.BufferPerRoute:
    made = buffer_pb2.BufferPerRoute()
    made.buffer.max_request_bytes.value = setting.size
    return made
