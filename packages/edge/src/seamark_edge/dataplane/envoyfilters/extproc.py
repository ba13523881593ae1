"""Servers that see requests and responses, and change them."""

from __future__ import annotations

from envoy.extensions.filters.http.ext_proc.v3 import ext_proc_pb2, processing_mode_pb2

from seamark_edge.dataplane.envoyfilters.messages import grpc_service, seconds
from seamark_edge.dataplane.filters import ExtProc, Processing, ProcessingService

NAME = "envoy.filters.http.ext_proc"
SERVICE = ProcessingService
MODE = processing_mode_pb2.ProcessingMode


def in_chain(service: ProcessingService) -> ext_proc_pb2.ExternalProcessor:
    made = ext_proc_pb2.ExternalProcessor(
        grpc_service=grpc_service(service.remote), failure_mode_allow=service.fail_open
    )
    made.processing_mode.CopyFrom(mode(service.processing))
    if service.message_timeout is not None:
        made.message_timeout.CopyFrom(seconds(service.message_timeout))
    return made


def on_route(setting: ExtProc) -> ext_proc_pb2.ExtProcPerRoute:
    made = ext_proc_pb2.ExtProcPerRoute()
    made.overrides.SetInParent()
    if setting.processing is not None:
        made.overrides.processing_mode.CopyFrom(mode(setting.processing))
    return made


def mode(given: Processing) -> processing_mode_pb2.ProcessingMode:
    return MODE(
        request_header_mode=MODE.HeaderSendMode.Value(given.request_headers),
        response_header_mode=MODE.HeaderSendMode.Value(given.response_headers),
        request_body_mode=MODE.BodySendMode.Value(given.request_body),
        response_body_mode=MODE.BodySendMode.Value(given.response_body),
        request_trailer_mode=MODE.HeaderSendMode.Value(given.request_trailers),
        response_trailer_mode=MODE.HeaderSendMode.Value(given.response_trailers),
    )
