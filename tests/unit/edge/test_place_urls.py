"""URLs as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_edge.urls import BadUrl, Place, key_of, place, upstream


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tcp://", Place("tcp", "", 0)),
        ("tcp://1.tcp.ngrok.io:12345", Place("tcp", "1.tcp.ngrok.io", 12345)),
        ("tls://Example.com", Place("tls", "example.com", 443)),
        ("tls://example.com:8443", Place("tls", "example.com", 8443)),
        ("example.com", Place("https", "example.com", 443)),
        ("http://*.example.com.", Place("http", "*.example.com", 80)),
        ("tcp://[2001:db8::1]:80", Place("tcp", "2001:db8::1", 80)),
    ],
)
def test_a_url_names_a_place(text: str, found: Place) -> None:
    assert place(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "tls://user:secret@example.com",
        "tls://@example.com",
        "tcp://host:0",
        "tcp://host:65536",
        "tcp://host",
        "tcp://:80",
        "tls://exa mple.com",
        "tls://example.com\nevil.com",
        "tls://example.com/path",
        "tls://example.com?x=1",
        "tls://-.com",
        "gopher://example.com",
        "tls://" + "a" * 300 + ".com",
        "tls://[::1",
    ],
)
def test_what_is_no_url_is_told_in_one_line(text: str) -> None:
    with pytest.raises(BadUrl) as told:
        place(text)
    assert "\n" not in str(told.value)
    assert "secret" not in str(told.value)
    assert len(str(told.value)) < 400


@given(st.text(max_size=60))
def test_any_text_is_a_place_or_a_bad_url(text: str) -> None:
    try:
        found = place(text)
    except BadUrl:
        return
    assert place(str(found)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("8080", "tcp://localhost:8080"),
        ("web.default:80", "tcp://web.default:80"),
        ("http://web", "http://web:80"),
        ("https://web:8443", "https://web:8443"),
        ("tcp://10.0.0.1:5432", "tcp://10.0.0.1:5432"),
    ],
)
def test_the_forms_of_an_upstream(text: str, found: str) -> None:
    assert str(upstream(text)) == found


@pytest.mark.parametrize("text", ["web", "tcp://web", "ftp://web:21", "http://u:p@web", "tcp://web:0", "http://web:x"])
def test_what_is_no_upstream(text: str) -> None:
    with pytest.raises(BadUrl):
        upstream(text)


def test_two_urls_that_lead_to_one_place_have_one_key() -> None:
    assert key_of("tls://example.com") == key_of("tls://example.com:15443")  # an edge has one port for a scheme
    assert key_of("tcp://example.com:1") != key_of("tcp://example.com:2")
    assert key_of("not a url") == "not a url"
