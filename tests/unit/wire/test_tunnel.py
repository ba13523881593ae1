"""The session RPC messages."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.wire.tunnel import (
    MAX_TRIES,
    Auth,
    Bind,
    JsonReader,
    MessageError,
    ProxyHeader,
    ProxyHeaderReader,
    decode,
    proxy_preface,
)


def test_the_token_is_read_in_both_spellings() -> None:
    assert decode(b'{"Extra":{"Authtoken":"go"}}', Auth).extra.token == "go"
    assert decode(b'{"Extra":{"AuthToken":"rust"}}', Auth).extra.token == "rust"


def test_null_means_not_said() -> None:
    bind = decode(b'{"Proto":"tcp","Opts":null,"Extra":{"Metadata":null,"Bindings":null}}', Bind)
    assert (bind.proto, bind.opts, bind.extra.metadata, bind.extra.bindings) == ("tcp", {}, "", None)


def test_an_object_is_complete_where_it_ends_even_if_its_pieces_end_like_one() -> None:
    reader = JsonReader()
    assert reader.feed(b'{"Opts":{}') is None
    assert reader.feed(b',"Id":"}') is None
    assert reader.feed(b'"}\n') == b'{"Opts":{},"Id":"}"}'


def test_an_object_that_never_ends_is_refused() -> None:
    reader = JsonReader(limit=1000)
    for _ in range(10):
        assert reader.feed(b"[" * 100) is None
    with pytest.raises(MessageError, match="more than 1000 bytes"):
        reader.feed(b"[")


def test_many_pieces_that_look_complete_are_refused() -> None:
    reader = JsonReader()
    for number in range(MAX_TRIES - 1):
        assert reader.feed(b'{"a":{}' if number == 0 else b',"a":{}') is None
    with pytest.raises(MessageError):
        reader.feed(b',"a":{}')


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(MessageError):
        decode(b'{"Opts":{"x":' + b"[" * 100000 + b"]" * 100000 + b"}}", Bind)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_clear_error(data: bytes) -> None:
    for body in (data, b'{"Extra":' + data + b"}"):
        with suppress(MessageError):
            decode(body, Auth)


@given(st.builds(ProxyHeader, id=st.text(), client_addr=st.text(), proto=st.text()), st.binary(), st.integers(1, 7))
def test_a_proxy_header_comes_back_with_the_bytes_after_it(header: ProxyHeader, after: bytes, step: int) -> None:
    data, reader, found, fed = proxy_preface(header) + after, ProxyHeaderReader(), None, 0
    while found is None:
        found = reader.feed(data[fed : fed + step])
        fed += step
    assert found == header
    assert reader.rest + data[fed:] == after


def test_a_proxy_header_over_the_limit_is_refused_at_its_length() -> None:
    with pytest.raises(MessageError, match="proxy header"):
        ProxyHeaderReader().feed((1 << 40).to_bytes(8, "little"))
