"""CEL: selectors of bound endpoints, filters of lists, conditions of policy rules. Compiled once, of bounded length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

# Its module itself: `xds-protos` brings a package of the same name, whose empty __init__.py may be the one installed.
from cel import cel

MAX_EXPRESSION = 4096
# Loops multiply: one expression must not hold the process up, whoever wrote it.
MAX_LOOPS, MAX_LOOPING = 2, 1024
_LOOP = re.compile(r"\.\s*(?:all|exists|exists_one|existsOne|map|filter)\s*\(")


class ExpressionError(Exception):
    """Not an expression that can be run; the text names it and says why."""


@contextmanager
def _panics(what: str) -> Iterator[None]:
    """The binding raises many things, and panics of its parser are no `Exception`."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise ExpressionError(f"{what}: {error}") from error


@lru_cache(maxsize=4096)
def compiled(source: str) -> cel.Program:
    if len(source) > MAX_EXPRESSION:
        raise ExpressionError(f"expression of {len(source)} characters: at most {MAX_EXPRESSION} are taken")
    loops = len(_LOOP.findall(source))
    if loops > MAX_LOOPS or (loops and len(source) > MAX_LOOPING):
        raise ExpressionError(
            f"{loops} loops in {len(source)} characters: at most {MAX_LOOPS} are taken, in at most {MAX_LOOPING}"
        )
    with _panics(f"{source!r} is no CEL expression"):
        return cel.compile(source)


def value(source: str, names: dict[str, Any]) -> Any:
    """What the expression gives for these names; an `ExpressionError` if it can't be evaluated."""
    program = compiled(source)
    with _panics(f"{source!r} can't be evaluated"):
        return program.execute(names)


def holds(source: str, names: dict[str, Any]) -> bool:
    """Whether the expression is true of these names. One that fails (an unknown field) is not true."""
    try:
        return value(source, names) is True
    except ExpressionError:
        return False
