"""Documents of untrusted parties are decoded within limits, or refused as a whole."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_runtime.untrusted.decoding import (
    InvalidSyntax,
    Limits,
    Malformed,
    check_json,
    decode_all_yaml,
    decode_envelope,
    decode_json,
    decode_plain_json,
    decode_yaml,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


@given(VALUES)
def test_the_depth_of_a_document_is_that_of_its_value(value: Any) -> None:
    depth = depth_of(value)
    for indent in (0, 2):
        raw = msgspec.json.format(msgspec.json.encode(value), indent=indent)
        check_json(raw, Limits(depth=depth))
        if depth:
            with pytest.raises(Malformed, match=f"more than {depth - 1} levels"):
                check_json(raw, Limits(depth=depth - 1))


@pytest.mark.parametrize("text", ['["\\\\", [1]]', '["\\"[[[", [1]]', '["\\\\\\"{{", {}]'])
def test_brackets_inside_strings_do_not_count(text: str) -> None:
    check_json(text.encode(), Limits(depth=2))
    with pytest.raises(Malformed, match="more than 1 levels"):
        check_json(text.encode(), Limits(depth=1))


@pytest.mark.parametrize("levels", [101, 1_200, 500_000])
def test_a_document_nested_too_deep_is_refused_with_the_limit(levels: int) -> None:
    with pytest.raises(Malformed, match="more than 100 levels"):
        decode_plain_json(b"[" * levels + b"]" * levels)


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", '"\\ud800"', "1" * 5_000, "1e999", "nan", "\x00", '{"a": 1} x', "[" * 50], ids=repr
)
def test_nothing_but_malformed_is_raised_by_json(text: str) -> None:
    with contextlib.suppress(Malformed):
        decode_plain_json(text)


@pytest.mark.parametrize("text", ["[" * 200, "[" * 101 + "x" + "]" * 101, '["' + "[" * 200, "}" * 200])
def test_a_document_that_is_no_json_is_told_from_one_that_is_too_deep(text: str) -> None:
    with pytest.raises(InvalidSyntax, match="not valid JSON"):
        decode_plain_json(text)


class Named(msgspec.Struct):
    name: str


class Envelope(msgspec.Struct):
    metadata: Named


@pytest.mark.parametrize("levels", [1, 1_200, 10_000])
def test_the_identity_of_a_document_is_read_however_deep_it_is_nested(levels: int) -> None:
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    raw = b'{"aaa":' + deep + b',"metadata":{"managedFields":' + deep + b',"name":"x"},"spec":' + deep + b"}"
    assert decode_envelope(raw, Envelope).metadata.name == "x"


def test_what_is_deeper_than_any_api_server_accepts_is_malformed() -> None:
    with pytest.raises(Malformed, match="too many levels"):
        decode_envelope(b'{"a":' + b"[" * 500_000 + b"]" * 500_000 + b',"metadata":{"name":"x"}}', Envelope)


@pytest.mark.parametrize("unit", ["[],", "[" * 90 + "]" * 90 + ",", '{"a":{}},', '"[[[",', '"\\"",'])
def test_the_depth_of_a_large_document_is_checked_in_a_few_milliseconds(unit: str) -> None:
    raw = ("[" + unit * (1_500_000 // len(unit)) + "0]").encode()
    began = time.process_time()
    check_json(raw)
    assert time.process_time() - began < 0.05


def test_a_document_that_is_too_large_is_refused() -> None:
    with pytest.raises(Malformed, match="12 bytes, 10 are allowed"):
        decode_json(b'"0123456789"', str, Limits(size=10))


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_yaml_aliases_are_counted_by_what_they_expand_to() -> None:
    began = time.process_time()
    with pytest.raises(Malformed, match="values, aliases expanded"):
        decode_yaml(bomb(12))
    assert time.process_time() - began < 1


def test_a_few_yaml_aliases_are_fine() -> None:
    assert decode_yaml("base: &b {a: 1}\nother: *b\nthird: {<<: *b, c: 2}") == {
        "base": {"a": 1},
        "other": {"a": 1},
        "third": {"a": 1, "c": 2},
    }


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]",
        "*missing",
        "[" * 5_000,
        "{" * 5_000,
        "- " * 5_000,
        "2001-99-99",
        "9" * 5_000,
        "1" + ":1" * 3_000,
        "!!python/object:os.system x",
        "{[1]: 2}",
        "\x00",
        "a: b: c",
        "? [a]\n: 1",
        "!!binary x",
        "!!timestamp x",
        "!!int x",
        "!!float x",
        "!!bool x",
        "<<: 1",
        "%YAML 9.9\n---\n1",
    ],
    ids=lambda text: text[:20],
)
def test_nothing_but_malformed_is_raised_by_yaml(text: str) -> None:
    with contextlib.suppress(Malformed):
        decode_all_yaml(text)


def test_several_documents_are_refused_where_one_is_expected() -> None:
    with pytest.raises(Malformed, match="2 documents, one is expected"):
        decode_yaml("a: 1\n---\nb: 2")


@pytest.mark.parametrize("number", ["1:" * 5000 + "1", "9" * 5000, "!!int '" + "1:" * 5000 + "1'"])
def test_a_number_of_yaml_that_takes_quadratic_time_is_refused(number: str) -> None:
    with pytest.raises(Malformed, match="a number of more than 1000 characters"):
        decode_yaml(f"a: {number}")
    assert decode_yaml(f"a: '{'9' * 5000}'") == {"a": "9" * 5000}


def test_a_key_that_is_twice_in_a_json_mapping_is_refused_where_keys_are_unique() -> None:
    text = '{"a": [{"b": 1, "c": {}, "b": 2}]}'
    with pytest.raises(Malformed, match="the key 'b' is there twice"):
        decode_plain_json(text, Limits(unique_keys=True))
    assert decode_plain_json(text) == {"a": [{"b": 2, "c": {}}]}
    assert decode_plain_json('{"a": {"b": 1}, "b": 1}', Limits(unique_keys=True)) == {"a": {"b": 1}, "b": 1}


@pytest.mark.parametrize("text", ["[1, 2, 3, 4]", '{"a": 1, "b": 2}', '{"a": [",,,,,,,,", 1]}'])
def test_the_values_of_a_json_document_are_counted_as_those_of_a_yaml_document(text: str) -> None:
    assert decode_plain_json(text, Limits(nodes=5)) == decode_yaml(text, Limits(nodes=5))
    for decode in (decode_plain_json, decode_yaml):
        with pytest.raises(Malformed, match="more than 4 values"):
            decode(text, Limits(nodes=4))
