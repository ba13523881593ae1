"""`extProc`: a server sees requests and responses, and changes them."""

from __future__ import annotations

from seamark.api.gatewayextensions import ExtProcProvider, ProcessingMode
from seamark.api.trafficfilters import ExtProc
from seamark.families.gateway.rules.features.extensions import LEAST_TIMEOUT, grpc, service
from seamark.families.gateway.rules.features.references import Extension, References
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import filters

HEADERS = ("DEFAULT", "SEND", "SKIP")
BODIES = ("NONE", "STREAMED", "BUFFERED", "BUFFERED_PARTIAL", "FULL_DUPLEX_STREAMED")


def read(field: str, given: ExtProc, references: References) -> filters.ExtProc:
    found = service(field, given.extension_ref, references, "extProc", lambda spec: spec.ext_proc, _service)
    own = given.processing_mode
    return filters.ExtProc(found, _processing(f"{field}.processingMode", own) if own is not None else None)


def _service(extension: Extension, given: ExtProcProvider) -> filters.ProcessingService:
    return filters.ProcessingService(
        name=extension.name,
        remote=grpc(extension, "extProc.grpcService", given.grpc_service),
        processing=_processing("extProc.processingMode", given.processing_mode),
        fail_open=given.fail_open,
        message_timeout=limits.duration("extProc.messageTimeout", given.message_timeout, least=LEAST_TIMEOUT),
    )


def _processing(field: str, given: ProcessingMode) -> filters.Processing:
    headers = {
        "requestHeaderMode": given.request_header_mode,
        "responseHeaderMode": given.response_header_mode,
        "requestTrailerMode": given.request_trailer_mode,
        "responseTrailerMode": given.response_trailer_mode,
    }
    bodies = {"requestBodyMode": given.request_body_mode, "responseBodyMode": given.response_body_mode}
    for known, modes in ((HEADERS, headers), (BODIES, bodies)):
        for name, value in modes.items():
            limits.one_of(f"{field}.{name}", value, known)
    for side, body, trailers in (
        ("request", given.request_body_mode, given.request_trailer_mode),
        ("response", given.response_body_mode, given.response_trailer_mode),
    ):
        if body == "FULL_DUPLEX_STREAMED" and trailers != "SEND":
            raise Unsupported(f"{field}.{side}TrailerMode: must be SEND where the body is FULL_DUPLEX_STREAMED")
    return filters.Processing(
        request_headers=given.request_header_mode,
        response_headers=given.response_header_mode,
        request_body=given.request_body_mode,
        response_body=given.response_body_mode,
        request_trailers=given.request_trailer_mode,
        response_trailers=given.response_trailer_mode,
    )
