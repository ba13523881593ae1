"""CEL in bounds: any text is an expression or a clear error, and none holds the process up."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.wire.expressions import MAX_EXPRESSION, ExpressionError, compiled, holds, value

TEN = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
words = st.sampled_from(
    ["ep", ".", "metadata", "==", "'x'", "(", ")", "[", "]", "!", "&&", "1", "{", "}", ":", "?", "\0"]
)


def nested(depth: int) -> str:
    source = "true"
    for level in range(depth):
        source = f"{TEN}.all(x{level}, {source})"
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


def test_loops_in_loops_are_refused_before_they_run() -> None:
    assert holds(nested(2), {})
    for source in (nested(3), nested(9), f"{TEN}.map(x, {'1 + ' * 400} 1).all(y, true)"):
        with pytest.raises(ExpressionError, match="loops"):
            compiled(source)


@pytest.mark.parametrize("source", ["(" * 2000 + "1" + ")" * 2000, "[" * 2000 + "]" * 2000, "!" * 5000, "x" * 9999])
def test_what_is_too_deep_or_too_long_is_refused(source: str) -> None:
    with pytest.raises(ExpressionError):
        compiled(source)
    assert len(source) > MAX_EXPRESSION or len(source) >= 4000
