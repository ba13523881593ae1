"""Hostnames: what listeners and routes have in common."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.families.gateway.values.durations import seconds
from seamark.gatewayapi.hostnames import common_hostnames, covering, covers, specificity


@pytest.mark.parametrize(
    ("listener", "hostnames", "served"),
    [
        ("", (), ("",)),
        ("", ("a.example.com",), ("a.example.com",)),
        ("a.example.com", (), ("a.example.com",)),
        ("*.example.com", ("a.example.com", "b.other.com"), ("a.example.com",)),
        ("*.example.com", ("a.b.example.com",), ("a.b.example.com",)),
        ("*.example.com", ("example.com",), ()),
        ("a.example.com", ("*.example.com",), ("a.example.com",)),
        ("*.a.example.com", ("*.example.com",), ("*.a.example.com",)),
        ("*.example.com", ("*.a.example.com",), ("*.a.example.com",)),
        ("*.example.com", ("*.example.org",), ()),
        ("a.example.com", ("b.example.com",), ()),
    ],
)
def test_a_route_is_served_under_the_names_it_shares_with_a_listener(
    listener: str, hostnames: tuple[str, ...], served: tuple[str, ...]
) -> None:
    assert common_hostnames(listener, hostnames) == served


NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(".".join)
PATTERNS = st.one_of(st.just(""), NAMES, NAMES.map(lambda name: f"*.{name}"))


@given(PATTERNS, PATTERNS)
def test_what_is_common_is_covered_by_both(listener: str, hostname: str) -> None:
    for name in common_hostnames(listener, (hostname,) if hostname else ()):
        assert covers(listener, name)
        assert covers(hostname, name)


@given(PATTERNS, PATTERNS)
def test_who_covers_another_is_no_more_specific(one: str, other: str) -> None:
    if covers(one, other) and one != other:
        assert specificity(one) < specificity(other)


@given(PATTERNS.filter(bool), PATTERNS.filter(bool))
def test_the_patterns_that_cover_a_name_are_found_by_the_name_alone(pattern: str, name: str) -> None:
    found = list(covering(name))
    assert (pattern in found) == covers(pattern, name)
    assert found == sorted(found, key=specificity, reverse=True)


@pytest.mark.parametrize(
    ("text", "value"), [("10s", 10), ("1h30m", 5400), ("500ms", 0.5), ("0s", 0), (None, None), ("soon", None)]
)
def test_durations(text: str | None, value: float | None) -> None:
    assert seconds(text) == value
