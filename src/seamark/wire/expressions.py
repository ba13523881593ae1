"""CEL: selectors of bound endpoints, filters of lists, conditions of policy rules. Compiled once, of bounded length."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

# Its module itself: `xds-protos` brings a package of the same name, whose empty __init__.py may be the one installed.
from cel import cel

MAX_EXPRESSION = 4096


class ExpressionError(Exception):
    """Not an expression that can be run; the text names it and says why."""


@lru_cache(maxsize=4096)
def compiled(source: str) -> cel.Program:
    if len(source) > MAX_EXPRESSION:
        raise ExpressionError(f"expression of {len(source)} characters: at most {MAX_EXPRESSION} are taken")
    try:
        return cel.compile(source)
    except Exception as error:  # the binding raises whatever its parser panics with
        raise ExpressionError(f"{source!r} is no CEL expression: {error}") from error


def value(source: str, names: dict[str, Any]) -> Any:
    """What the expression gives for these names; an `ExpressionError` if it can't be evaluated."""
    program = compiled(source)
    try:
        return program.execute(names)
    except Exception as error:  # the same: whatever the evaluation panics with
        raise ExpressionError(f"{source!r} can't be evaluated: {error}") from error


def holds(source: str, names: dict[str, Any]) -> bool:
    """Whether the expression is true of these names. One that fails (an unknown field) is not true."""
    try:
        return value(source, names) is True
    except ExpressionError:
        return False
