"""CEL: selectors of bound endpoints and conditions of policy rules, compiled once and run with a bounded input."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cel import cel  # the extension itself: xds-protos has a package `cel`, too, and may own its __init__

from seamark.edge.errors import invalid

MAX_EXPRESSION = 4096


@lru_cache(maxsize=4096)
def compiled(source: str) -> cel.Program:
    """A program, or a refusal that names the expression."""
    if len(source) > MAX_EXPRESSION:
        raise invalid(f"expression of {len(source)} characters: at most {MAX_EXPRESSION} are taken")
    try:
        return cel.compile(source)
    except Exception as error:  # the binding raises whatever its parser panics with
        raise invalid(f"{source!r} is no CEL expression: {error}") from error


def holds(source: str, names: dict[str, Any]) -> bool:
    """Whether the expression is true of these names. One that fails (an unknown field) is not true."""
    try:
        return compiled(source).execute(names) is True
    except Exception:  # the same: any failure of the expression is "no"
        return False
