"""Patterns on untrusted text take linear time."""

from __future__ import annotations

import time

import pytest

from seamark_runtime.untrusted.patterns import InvalidPattern, Pattern, quote


def test_time_is_linear_where_backtracking_would_take_for_ever() -> None:
    began = time.process_time()
    assert Pattern(r"(a+)+b").search("a" * 100_000) is None
    assert time.process_time() - began < 0.5


def test_the_end_of_a_text_is_not_before_a_newline() -> None:
    assert Pattern(r"^[a-z]+$").search("abc\n") is None


def test_positions_are_those_of_the_text() -> None:
    found = Pattern(r"(?P<what>b+)").search("äö€bb")
    assert found is not None
    assert (found.start(), found.end(), found["what"]) == (3, 5, "bb")


def test_a_text_that_is_no_unicode_is_matched_all_the_same() -> None:
    assert Pattern(r"x.y").fullmatch("x\ud800y") is not None


def test_a_pattern_that_is_not_valid_is_refused_with_a_reason() -> None:
    with pytest.raises(InvalidPattern, match="missing"):
        Pattern("(a")


def test_a_quoted_text_matches_itself_alone() -> None:
    assert Pattern(quote("a.b*")).fullmatch("a.b*")
    assert Pattern(quote("a.b*")).fullmatch("axbb") is None


def test_replacements_are_made() -> None:
    assert Pattern(r"(\d+)").sub(lambda found: f"<{found[1]}>", "a1b22") == "a<1>b<22>"
