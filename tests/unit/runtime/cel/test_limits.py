"""Limits of expressions: of the text, of the tree, of the estimated cost, and of what an evaluation spends."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark_runtime.cel import BudgetExceeded, CelError, Language, Limits, Meter, SyntaxProblem
from seamark_runtime.cel.library import STANDARD
from seamark_runtime.cel.strings import pattern_of
from tests.unit.runtime.cel.attacks import nested, shared

LIMITS = Limits(
    length=4096,
    depth=32,
    nodes=500,
    budget=10_000,
    text=10_000,
    cost=10_000,
    input_items=20,
    input_text=100,
    pattern_memory=64 * 1024,
)
CEL = Language(STANDARD, LIMITS)
UNPRICED = Language(STANDARD, replace(LIMITS, cost=None))  # the budget alone applies


@pytest.mark.parametrize(
    ("source", "limit"),
    [
        ("x" * 5000, "5000 characters: at most 4096"),
        ("(" * 2000 + "1" + ")" * 2000, "more than 32 levels"),
        ("[" * 2000, "more than 32 levels"),
        ("{1:" * 1000, "more than 32 levels"),
        ("f(" * 2000, "more than 32 levels"),
        ("a[" * 2000, "more than 32 levels"),
        ("true ? 1 : " * 300 + "1", "more than 32 levels"),
        ("!" * 400 + "true", "more than 32 levels"),
        ("-" * 400 + "x", "more than 32 levels"),
        ("." * 4000 + "a", "no viable alternative"),
        ("1" + " + 1" * 40, "more than 32 levels"),
        ("a" + ".a" * 40, "more than 32 levels"),
        ("[" + "1, " * 600 + "]", "601 nodes: at most 500"),
        ("1" * 4000, "more than 64 bits"),
        ("9223372036854775808", "more than 64 bits"),
        ("18446744073709551616u", "more than 64 bits"),
        ("'" + "x" * 4000, "does not end"),
        ("'\\ud'", "unable to unescape"),
        ("'\\U00110000'", "unable to unescape"),
        ("'x'.matches('(')", "invalid regular expression"),
        ("x.matches('a{1000}{1000}')", "invalid regular expression"),
        ("x.matches('(\\\\pL{100}){10}')", "at most 8192 are allowed"),
    ],
)
def test_what_is_above_a_limit_is_refused_and_the_limit_is_named(source: str, limit: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        CEL.compile(source)
    assert limit in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_long_chain_of_alternatives_is_one_level() -> None:
    assert CEL.compile(" || ".join(["x == 1"] * 100))({"x": 1}) is True
    assert CEL.compile(" && ".join(["x == 1"] * 100))({"x": 2}) is False


@pytest.mark.parametrize("dot", [".", " . ", ".//\n", ".// a comment\n"])
def test_loops_in_loops_multiply_however_they_are_written(dot: str) -> None:
    costs = [Language(STANDARD, replace(LIMITS, cost=10**9)).compile(nested(n, dot)).cost for n in (1, 2, 3, 4)]
    assert all(later > 8 * earlier for earlier, later in pairwise(costs))
    assert CEL.compile(nested(3, dot))({}) is True
    with pytest.raises(SyntaxProblem, match=r"estimated cost of \d+ steps: at most 10000"):
        CEL.compile(nested(4, dot))


@pytest.mark.parametrize(
    "source",
    [
        "x.all(a, x.all(b, x.all(c, true)))",
        "x.map(a, x).flatten().all(b, x.map(c, x).flatten().all(d, true))",
        "x.split('').all(a, x.split('').all(b, a == b))",
        "cel.bind(y, x.map(a, x.map(b, x)), y == y)",
        "x.map(a, x.split(',')).map(b, b.join('')).sort().size() > 0",
        "x.map(a, a.matches(x)).size() > 0",
        "x.map(a, x.map(b, a.replace('', b))).size() > 0",
    ],
)
def test_an_estimate_counts_inputs_by_their_declared_size(source: str) -> None:
    with pytest.raises(SyntaxProblem, match="estimated cost"):
        CEL.compile(source)


@pytest.mark.parametrize(
    "source",
    [
        nested(6),
        f"{shared(8)} == {shared(8)}",
        f"optional.of({shared(8)}) == optional.of({shared(8)})",
        f"{{'a': {shared(8)}}} == {{'a': {shared(8)}}}",
        f"[{shared(8)}].exists(a, a in [{shared(8)}])",
        f"{shared(8)}.flatten(9).size()",
        f"sets.contains([{shared(8)}], [{shared(8)}])",
        "x.split('').map(a, x.split('').map(b, a + b)).size()",
        "x.split('').distinct().size()",
        "x.split('').map(a, x.matches('(a{0,30}){20}b')).size()",
        "x.findAll('a.*0|[a-z]').size()",
        "x.contains('a' + x + 'b')",
        "x.split('').map(a, x.matches('a' + a)).size()",
        f"false || {nested(6)}",
        f"[1].exists(a, {nested(6)})",
        f"{nested(6)} ? 1 : 2",
    ],
)
def test_an_evaluation_ends_at_its_budget(source: str) -> None:
    text = "".join(chr(97 + n % 26) for n in range(3000))
    with pytest.raises(BudgetExceeded, match="more than 10000 steps"):
        UNPRICED.compile(source)({"x": text})


@pytest.mark.parametrize(
    "source",
    [
        "x + x + x + x",
        "[x, x, x, x].join(x)",
        "x.replace('a', x)",
        "x.replace('', 'aaaa')",
        "'%s%s%s%s'.format([x, x, x, x])",
        "'%.99999999f'.format([1.0])",
        "[x, x, x, x].sum()",
    ],
)
def test_the_texts_that_an_expression_makes_are_limited(source: str) -> None:
    with pytest.raises(CelError, match=r"at most 10000 are allowed|at most 60 digits"):
        Language(STANDARD, replace(LIMITS, cost=None, budget=10**6)).compile(source)({"x": "a" * 3000})


def test_evaluations_share_a_budget_if_they_are_given_one_meter() -> None:
    program = CEL.compile("x.all(a, a > 0)")
    alone = Meter(LIMITS)
    assert program({"x": [1, 2, 3]}, alone) is True
    meter = Meter(LIMITS, budget=2 * alone.spent)
    assert [program({"x": [1, 2, 3]}, meter) for _ in range(2)] == [True, True]
    with pytest.raises(BudgetExceeded):
        program({"x": [1, 2, 3]}, meter)


names = st.sampled_from(["x", "s", "n", "'a'", "'ab,c'", "1", "2.5", "true", "[1, 2, 3]", "['a', 's']", "{'a': 1}"])


def calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    members = ["size()", "distinct()", "reverse()", "lowerAscii()", "flatten()", "sort()", "sum()", "join(',')"]
    binary = ["==", "!=", "+", "in", "<", "&&", "||", "*"]
    return st.one_of(
        st.builds("{}.{}".format, inner, st.sampled_from(members)),
        st.builds("({} {} {})".format, inner, st.sampled_from(binary), inner),
        st.builds("{}.{}({})".format, inner, st.sampled_from(["contains", "split", "indexOf", "matches"]), inner),
        st.builds("{}.replace({}, {})".format, inner, inner, inner),
        st.builds("{}.{}(i, {})".format, inner, st.sampled_from(["all", "exists", "map", "filter"]), inner),
        st.builds("{}.map(i, [i, {}])".format, inner, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("cel.bind(b, {}, [b, b])".format, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("'%s %d'.format([{}, {}])".format, inner, inner),
        st.builds("sets.intersects({}, {})".format, inner, inner),
    )


VALUES: dict[str, Any] = {"x": list(range(20)), "s": "a" * 100, "n": 7}


@settings(deadline=None, max_examples=400)
@given(st.recursive(names, calls, max_leaves=8))
def test_no_evaluation_spends_more_than_the_estimate(source: str) -> None:
    language = Language(STANDARD, replace(LIMITS, cost=10**60, budget=200_000), keep=1)
    with suppress(SyntaxProblem):
        program = language.compile(source)
        meter = Meter(language.limits)
        with suppress(CelError):
            program(VALUES, meter)
        assert min(meter.spent, 200_000) <= program.cost


@settings(deadline=None, max_examples=300)
@given(st.one_of(st.text(max_size=60), st.text("xs.?:[](){}'\"`1e-+!&|=<> in\\u/*\n", max_size=40)))
def test_any_text_is_a_program_or_a_syntax_problem(text: str) -> None:
    with suppress(SyntaxProblem, CelError):
        CEL.compile(text)(VALUES)


@pytest.mark.parametrize("text", ["s", "'a'"])
def test_patterns_of_a_source_cost_what_it_takes_to_compile_them(text: str) -> None:
    source = " || ".join(f"{text}.matches('\\\\pL{{3}}{number}')" for number in range(100))
    pattern_of.cache_clear()
    with pytest.raises(SyntaxProblem, match=r"patterns have more than 10000 states|estimated cost"):
        CEL.compile(source)
    assert pattern_of.cache_info().currsize <= 4  # of about 3,500 states each; the others were not compiled


@pytest.mark.parametrize("levels", [3, 6])
def test_patterns_that_are_not_in_the_source_cost_what_it_takes_to_compile_them(levels: int) -> None:
    """Those of six levels are too large, which is an error that `exists` absorbs."""
    pattern_of.cache_clear()
    program = UNPRICED.compile(f"x.exists(i, 'a'.matches('\\\\pL{{{levels}}}' + string(i)))")
    with pytest.raises(BudgetExceeded):
        program({"x": list(range(20))})
    assert pattern_of.cache_info().misses <= 4
