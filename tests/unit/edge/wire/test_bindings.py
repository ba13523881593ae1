"""The bindings preamble."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_edge.wire.bindings import ConnRequest, ConnResponse, PodIdentity, PreambleError, PreambleReader, frame

texts = st.text(max_size=40)
pods = st.builds(PodIdentity, texts, texts, texts, st.dictionaries(texts, texts, max_size=4))
requests = st.builds(ConnRequest, texts, st.integers(-(2**63), 2**63 - 1), st.none() | pods)
responses = st.builds(ConnResponse, texts, texts, texts, texts, st.lists(texts, max_size=3).map(tuple))


@given(requests, st.binary(max_size=10), st.integers(1, 9))
def test_a_request_comes_back_as_it_went_and_the_bytes_after_it_are_kept(
    request: ConnRequest, after: bytes, step: int
) -> None:
    data, reader, body = frame(request) + after, PreambleReader(), None
    fed = 0
    while body is None:
        body = reader.feed(data[fed : fed + step])
        fed += step
    assert ConnRequest.decode(body) == request
    assert reader.rest + data[fed:] == after


@given(responses)
def test_a_response_comes_back_as_it_went(response: ConnResponse) -> None:
    assert ConnResponse.decode(response.encode()) == response


def test_the_bytes_are_those_of_protobuf() -> None:
    request = ConnRequest("svc.ns", 443, PodIdentity("u", "p", "n", {"a": "b"}))
    assert request.encode() == (
        b"\x0a\x06svc.ns\x10\xbb\x03\x1a\x11\x0a\x01u\x12\x01p\x1a\x01n\x22\x06\x0a\x01a\x12\x01b"
    )
    assert frame(ConnResponse("ep_1", "tcp")) == b"\x0b\x00\x0a\x04ep_1\x12\x03tcp"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_a_clear_error(data: bytes) -> None:
    for kind in (ConnRequest, ConnResponse):
        with suppress(PreambleError):
            kind.decode(data)


def test_unknown_fields_are_skipped() -> None:
    assert ConnRequest.decode(b"\x78\x01\x0a\x01h\x7d\0\0\0\0\x79\0\0\0\0\0\0\0\0\x7a\x01x") == ConnRequest("h")


def test_a_message_over_the_limit_is_refused_when_it_is_written() -> None:
    with pytest.raises(PreambleError, match="at most 65535"):
        frame(ConnResponse(error_message="x" * 70000))
