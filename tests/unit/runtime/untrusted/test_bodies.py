"""Bodies of a remote party: whole, bounded, and cut into items while they arrive."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_runtime.untrusted.bodies import JsonArray, read_body
from seamark_runtime.untrusted.decoding import Malformed
from tests.sources import modules

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


async def arriving(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


def items(raw: bytes, step: int = 7, longest: int = 1000) -> list[bytes]:
    array = JsonArray(longest)
    found = [item for start in range(0, len(raw), step) for item in array.feed(raw[start : start + step])]
    array.end()
    return found


def test_a_body_is_read_to_its_end_however_it_is_cut() -> None:
    assert asyncio.run(read_body(arriving(b"a", b"", b"bc", b"d"), 4)) == b"abcd"


def test_a_body_beyond_its_limit_is_refused_and_the_limit_is_named() -> None:
    with pytest.raises(Malformed, match="more than 3 bytes, which is the limit"):
        asyncio.run(read_body(arriving(b"ab", b"cd"), 3))


@given(st.lists(VALUES, max_size=6), st.integers(1, 20), st.sampled_from([None, 1]))
def test_an_array_is_cut_into_its_items(values: list[Any], step: int, indent: int | None) -> None:
    raw = json.dumps(values, indent=indent).encode()
    assert [json.loads(item) for item in items(raw, step, 10**6)] == values


@given(st.binary(max_size=60), st.integers(1, 10))
def test_whatever_arrives_is_cut_or_refused(raw: bytes, step: int) -> None:
    try:
        found = items(raw, step)
    except Malformed:
        return
    assert b"".join(found).strip() in raw or len(found) > 1


@pytest.mark.parametrize("raw", [b"null\n", b"[]", b" [ ] "])
def test_null_is_an_empty_array(raw: bytes) -> None:
    assert items(raw) == []


PARTS = [b"", b" \n", b"[1", b'["a', b"[{]", b"{}", b"1", b"nul", b"[1,]", b"[,1]", b"[1] 2", b"[1}", b"]"]


@pytest.mark.parametrize("raw", PARTS)
def test_a_part_of_an_array_is_never_taken_for_the_whole(raw: bytes) -> None:
    with pytest.raises(Malformed):
        items(raw)


def test_an_item_has_a_limit_of_its_own() -> None:
    with pytest.raises(Malformed, match="item 1 has more than 10 bytes"):
        items(b'["a","' + b"x" * 20 + b'"]', longest=10)


def test_no_answer_of_a_remote_party_is_read_in_any_other_way() -> None:
    """The developers' cluster aside, which asks programs of its own."""
    unbounded = ("content.read(", "response.read()", "response.text()", "response.json()", "content.iter_any():")
    found = [
        f"{path}: {line.strip()}"
        for _, path in modules("seamark", "seamark_edge", "seamark_runtime")
        for line in path.read_text().splitlines()
        if any(text in line for text in unbounded)
    ]
    assert [one for one in found if "async for chunk in self._response.content.iter_any():" not in one] == []
