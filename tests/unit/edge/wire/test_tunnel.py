"""The session RPC messages."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_edge.wire import tunnel
from seamark_edge.wire.tunnel import (
    MAX_DEPTH,
    Auth,
    Bind,
    BindAnswer,
    JsonReader,
    MessageError,
    ProxyHeader,
    ProxyHeaderReader,
    decode,
    encode,
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
    assert reader.feed(b'{"a":"') is None
    for _ in range(9):
        assert reader.feed(b"x" * 100) is None
    with pytest.raises(MessageError, match="more than 1000 bytes"):
        reader.feed(b"x" * 100)


def test_an_object_is_refused_as_soon_as_it_is_nested_too_deep() -> None:
    reader = JsonReader()
    assert reader.feed(b'{"a":' + b"[" * (MAX_DEPTH - 1)) is None
    with pytest.raises(MessageError, match="levels of nested"):
        reader.feed(b"[")


@pytest.mark.parametrize("data", [b"[", b"x" * 70000, b"[]}", b"}", b"null", b'"{}"'])
def test_what_does_not_start_like_an_object_is_refused_at_once(data: bytes) -> None:
    with pytest.raises(MessageError, match="not a JSON object"):
        JsonReader().feed(data)


def test_many_pieces_that_look_complete_are_read_in_linear_time() -> None:
    reader, pieces = JsonReader(), 20_000
    assert reader.feed(b'{"a":{}') is None
    began = time.process_time()
    for _ in range(pieces):
        assert reader.feed(b',"a":{}') is None
    assert time.process_time() - began < 2.0  # the whole object decoded again for each piece takes minutes
    assert reader.feed(b"}") is not None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(alphabet='a"\\{}[]é\n'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='"\\{}', max_size=3), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=3), VALUES), st.lists(st.integers(1, 9)))
def test_an_object_is_found_whole_however_it_is_cut(value: dict[str, Any], cuts: list[int]) -> None:
    reader, data, found = JsonReader(), msgspec.json.encode(value), None
    while data:
        assert found is None
        step = cuts.pop() if cuts else len(data)
        found, data = reader.feed(data[:step]), data[step:]
    assert found == msgspec.json.encode(value)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(MessageError):
        decode(b'{"Opts":{"x":' + b"[" * 100000 + b"]" * 100000 + b"}}", Bind)


@pytest.mark.parametrize(
    "number", ["1" + "0" * 30, "1" + "0" * 400, "-" + "9" * 400, "1e400", "1.5", '"1"', "true", "[]"]
)
@pytest.mark.parametrize("field", ["HeartbeatInterval", "HeartbeatTolerance", "Window"])
def test_a_number_that_no_agent_has_is_refused(field: str, number: str) -> None:
    with pytest.raises(MessageError, match="not a valid Auth message"):
        decode(b'{"Extra":{"%s":%s}}' % (field.encode(), number.encode()), Auth)


@pytest.mark.parametrize("value", [b"1" + b"0" * 30, b"[null," + b"9" * 25 + b"]", b'{"a":' + b"9" * 400 + b"}"])
def test_options_can_go_back_to_the_agent_whatever_they_are(value: bytes) -> None:
    opts = decode(b'{"Opts":{"x":%s,"y":null}}' % value, Bind).opts
    assert decode(encode(BindAnswer(opts=opts)), BindAnswer).opts == opts


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


KINDS = [kind for kind in vars(tunnel).values() if isinstance(kind, type) and issubclass(kind, tunnel.Message)]
FIELDS = sorted({field.encode_name for kind in KINDS for field in msgspec.structs.fields(kind)})
documents = st.dictionaries(
    st.sampled_from(FIELDS), VALUES | st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5), max_size=6
)


@given(st.sampled_from(KINDS), documents)
def test_any_document_is_a_message_or_a_clear_error_and_a_message_can_be_written(
    kind: type[tunnel.Message], document: dict[str, Any]
) -> None:
    with suppress(MessageError):
        encode(decode(msgspec.json.encode(document), kind))
