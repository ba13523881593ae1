"""CEL in bounds: any text is an expression or a clear error, and none holds the process up."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_edge.wire.expressions import FILTER, POLICY, SELECTOR, ExpressionError, compiled, holds, value
from seamark_runtime.cel import Language

HUNDRED = str(list(range(100)))
TEN = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
words = st.sampled_from(
    ["ep", ".", "metadata", "==", "'x'", "(", ")", "[", "]", "!", "&&", "1", "{", "}", ":", "?", "\0"]
)


def nested(depth: int, dot: str = ".") -> str:
    source = "true"
    for level in range(depth):
        source = f"{TEN}{dot}all(x{level}, {source})"
    return source


def test_a_field_is_compared() -> None:
    assert holds("ep.metadata == 'team-a'", {"ep": {"metadata": "team-a"}})
    assert not holds("ep.metadata == 'team-a'", {"ep": {"metadata": "team-b"}})


def test_a_value_that_is_not_true_is_no() -> None:
    assert not holds("'yes'", {})
    assert not holds("ep.nothing", {"ep": {}})
    with pytest.raises(ExpressionError, match="can't be evaluated"):
        value("ep.nothing", {"ep": {}})


@given(st.one_of(st.text(max_size=60), st.lists(words, max_size=12).map(" ".join)))
def test_any_text_is_an_expression_or_a_clear_error(text: str) -> None:
    with suppress(ExpressionError):
        value(text, {"ep": {"metadata": "x"}})


@pytest.mark.parametrize("dot", [".", ".//\n"])
def test_loops_in_loops_are_refused_before_they_run(dot: str) -> None:
    assert holds(nested(2, dot), {})
    for source in (nested(4, dot), nested(9, dot), f"{HUNDRED}{dot}map(x, {'[1] + ' * 20} [1]){dot}all(y, true)"):
        with pytest.raises(ExpressionError, match="estimated cost"):
            compiled(source)


def test_an_evaluation_over_more_than_was_estimated_ends() -> None:
    source = "ep.list.exists(x, ep.list.exists(y, x + y < 0))"
    with pytest.raises(ExpressionError, match="estimated cost"):
        compiled(source)
    once = "ep.list.map(x, x + 1).map(x, x + 1).exists(x, x < 0)"
    assert value(once, {"ep": {"list": list(range(64))}}) is False
    with pytest.raises(ExpressionError, match="cost limit exceeded"):
        value(once, {"ep": {"list": list(range(100_000))}})


@pytest.mark.parametrize("source", ["(" * 2000 + "1" + ")" * 2000, "[" * 2000 + "]" * 2000, "!" * 5000, "x" * 9999])
def test_what_is_too_deep_or_too_long_is_refused(source: str) -> None:
    with pytest.raises(ExpressionError, match=r"at most 4096|more than 32 levels"):
        compiled(source)


def test_ranges_of_addresses() -> None:
    names = {"ep": {"client_ip": "192.0.2.7"}}
    assert holds("inCidrRange(ep.client_ip, '192.0.2.0/24')", names)
    assert not holds("inCidrRange(ep.client_ip, '2001:db8::/32')", names)
    assert holds("inCidrRanges(ep.client_ip, ['10.0.0.0/8', '192.0.2.0/24'])", names)
    with pytest.raises(ExpressionError, match="can't be evaluated"):
        value("inCidrRange(ep.client_ip, 'nowhere')", names)


@pytest.mark.parametrize(
    ("source", "name"),
    [("math.abs(1) == 1", "math.abs"), ("ep.abs() == 1", "abs"), ("abs(1) == 1", "abs"), ("[1].all(x, no(x))", "no")],
)
@pytest.mark.parametrize("language", [SELECTOR, POLICY])
def test_an_unknown_function_is_refused_by_name(source: str, name: str, language: Language) -> None:
    source = source.replace("ep", "conn") if language is POLICY else source
    with pytest.raises(ExpressionError, match=f"the function '{name}' is not known here"):
        compiled(source, language)


def test_an_unknown_variable_is_refused_when_it_is_set() -> None:
    with pytest.raises(ExpressionError, match="the name 'math' is not known here: endpoint, ep are"):
        compiled("math.startsWith('x')", SELECTOR)
    with pytest.raises(ExpressionError, match="the name 'ep' is not known here: obj are"):
        compiled("ep.id == 'x'", FILTER)


def test_a_message_shows_an_expression_short_and_without_control_characters() -> None:
    with pytest.raises(ExpressionError) as caught:
        compiled("\x1b[31m" + "x y " * 500)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300
