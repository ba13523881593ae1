"""Expressions of callers: one that can't be run is refused when it is set."""

from __future__ import annotations

from typing import Any

from seamark.edge.errors import invalid
from seamark.wire.expressions import ExpressionError, compiled, holds, value

__all__ = ["checked", "chosen", "holds"]


def checked(source: str) -> str:
    """The expression, or a refusal that names it."""
    try:
        compiled(source)
    except ExpressionError as error:
        raise invalid(str(error)) from error
    return source


def chosen(source: str, view: dict[str, Any]) -> bool:
    """Whether a caller's filter chooses this object. A filter that can't be evaluated is refused, not taken for no."""
    try:
        return value(source, {"obj": view}) is True
    except ExpressionError as error:
        raise invalid(str(error)) from error
