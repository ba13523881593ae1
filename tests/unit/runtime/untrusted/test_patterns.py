"""Patterns on untrusted text take linear time."""

from __future__ import annotations

import random
import time
from functools import partial

import pytest
import re2

from seamark_runtime.untrusted.patterncost import cost
from seamark_runtime.untrusted.patterns import MOST_COST, Budget, InvalidPattern, Pattern, program, quote


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


PARTS = (
    *("a", "k", "Z", "é", "ж", "[a-z]", "[^a]", "[]a]", r"[^\w-]", r"[\d_-]", "[[:alpha:]0]", "[^[:^space:]]", r"\pL"),
    *(r"\p{Greek}", r"\PN", ".", r"\.", r"\x{61}", r"\w", r"\S", "(", "(?:", "(?i)", "(?i:", "(?P<n>", ")", ")", "|"),
    *("*", "+", "?", "??", "{2}", "{3,}", "{0,9}", "{1,99}", "{5", "{,3}", "^", "$", r"\b", r"\Qa.b\E", r"\C"),
)


def compiled_size(expression: str, *, unicode: bool, ignore_case: bool) -> int | None:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    if not unicode:
        options.encoding = re2.Options.Encoding.LATIN1
    try:
        size: int = re2.compile(expression if unicode else expression.encode(), options).programsize
    except re2.error:
        return None
    return size


def test_the_cost_of_an_expression_is_never_less_than_its_size() -> None:
    chosen, valid = random.Random(18), 0
    for _ in range(4000):
        expression = "".join(chosen.choice(PARTS) for _ in range(chosen.randint(1, 12)))
        for unicode, ignore_case in ((False, False), (True, False), (True, True)):
            size = compiled_size(expression, unicode=unicode, ignore_case=ignore_case)
            valid += size is not None
            assert (size or 0) <= cost(expression, unicode=unicode, ignore_case=ignore_case), expression
    assert valid > 1000


def test_the_cost_of_a_usual_expression_is_near_its_size() -> None:
    for expression in ("/[a-z0-9]{1,63}", "/api/v[0-9]+/(users|groups)/[^/]+", "^[a-f0-9-]{36}$"):
        assert cost(expression) <= 16 + 2 * program(expression).size


@pytest.mark.parametrize(
    "expression",
    [
        "[a-z]{1,999}" * 14,
        "((a{9}){9}){99}" * 9,
        "." * 100_000,
        r"\pL" * 3000,
        "[" * 50_000,
        "(" * 50_000,
        "a{9}" * 9999,
    ],
)
def test_an_expression_that_costs_too_much_is_refused_before_it_is_compiled(expression: str) -> None:
    began = time.process_time()
    for compile_it in (partial(Pattern, most=MOST_COST), program):
        with pytest.raises(InvalidPattern, match="at most 8192 are allowed"):
            compile_it(expression)
    assert time.process_time() - began < 0.5


def test_a_budget_admits_what_fits_and_counts_what_it_has_read() -> None:
    budget = Budget(100)
    assert budget.admits("a" * 40)
    assert not budget.admits("a{1,90}")
    assert budget.spent < 100
    assert budget.admits("b" * 10)
    assert not budget.admits("c" * 90)
