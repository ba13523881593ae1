"""Endpoint URLs."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.urls import binding_of, parse_url


@pytest.mark.parametrize(
    ("text", "key", "shown"),
    [
        ("tcp://127.0.0.1:2000", "tcp://127.0.0.1:2000", "tcp://127.0.0.1:2000"),
        ("https://App.Example.com", "https://app.example.com:443", "https://app.example.com"),
        ("app.example.com", "https://app.example.com:443", "https://app.example.com"),
        ("http://a.example:8080/", "http://a.example:8080", "http://a.example:8080"),
        ("tls://*.example.com", "tls://*.example.com:443", "tls://*.example.com"),
        ("tcp://[2001:db8::1]:22", "tcp://2001:db8::1:22", "tcp://[2001:db8::1]:22"),
    ],
)
def test_two_ways_to_write_a_place_are_one_place(text: str, key: str, shown: str) -> None:
    url = parse_url(text)
    assert (url.key, str(url)) == (key, shown)
    assert parse_url(shown) == url


@pytest.mark.parametrize(
    "text",
    ["gopher://x", "tcp://x", "https://", "https://a b", "https://a/b", "https://u:p@a", "https://a?x", "https://-a"],
)
def test_what_is_no_endpoint_url_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        parse_url(text)


@given(st.text(max_size=60))
def test_any_text_is_a_url_or_a_refusal(text: str) -> None:
    for candidate in (text, f"https://{text}", f"tcp://{text}:80"):
        with suppress(Refusal):
            url = parse_url(candidate)
            assert parse_url(str(url)) == url


def test_url_and_binding_must_agree() -> None:
    assert binding_of(parse_url("tcp://a.internal:1"), None) == "internal"
    assert binding_of(parse_url("tcp://a.b:1"), ("kubernetes",)) == "kubernetes"
    for text, bindings in (
        ("tcp://a.internal:1", ("public",)),
        ("tcp://a.example:1", ("internal",)),
        ("tcp://a.b.c:1", ("kubernetes",)),
        ("tcp://a.b:1", ("nowhere",)),
        ("tcp://a.b:1", ("public", "kubernetes")),
    ):
        with pytest.raises(Refusal):
            binding_of(parse_url(text), bindings)
