"""Conditions over the attributes of a request, in the Common Expression Language, as a data plane can evaluate them.

- `condition` gives the syntax tree, or raises SyntaxProblem with what can't be evaluated: a name that is no attribute,
  a function that the data plane does not have, a loop, and an expression that is too long or too deep.
"""

from __future__ import annotations

from functools import lru_cache

from seamark_runtime.cel import Limits, SyntaxProblem
from seamark_runtime.cel.declarations import Shape, check_condition
from seamark_runtime.cel.library import STANDARD
from seamark_runtime.cel.parser import parse
from seamark_runtime.cel.syntax import Bind, Call, Has, Index, Literal, Loop, Node, OptionalMap, Select
from seamark_runtime.cel.values import INT_MAX, UInt
from seamark_runtime.untrusted.patterncost import cost
from seamark_runtime.untrusted.patterns import InvalidPattern, program

MOST_EXPRESSION, MOST_DEPTH, MOST_NODES, MOST_STEPS = 4096, 32, 1000, 10_000
MOST_COST = 1024  # of a pattern: it is estimated before it is compiled, and is never less than its instructions
MOST_PATTERN = 100  # instructions of a compiled pattern: it is evaluated for every request
ATTRIBUTES: dict[str, Shape] = dict.fromkeys(("request", "source", "destination", "connection", "metadata"))
FUNCTIONS = frozenset(("size", "matches", "contains", "startsWith", "endsWith"))
LIMITS = Limits(MOST_EXPRESSION, MOST_DEPTH, MOST_NODES, budget=MOST_STEPS, text=MOST_EXPRESSION)


@lru_cache(maxsize=4096)
def condition(text: str) -> Node:
    tree = parse(text, LIMITS)
    check_condition(tree, ATTRIBUTES, STANDARD)
    pending = [tree]
    while pending:
        node = pending.pop()
        _check(node)
        pending += node.children
    return tree


def _check(node: Node) -> None:
    match node:
        case Loop() | Bind() | OptionalMap():
            raise SyntaxProblem("loops and bound names are not supported")
        case Select(optional=True) | Index(optional=True):
            raise SyntaxProblem("optional access is not supported; use has()")
        case Call(name=name) if name not in FUNCTIONS:
            raise SyntaxProblem(f"the function {name} is not supported; use one of {', '.join(sorted(FUNCTIONS))}")
        case Call(name="matches", arguments=arguments):
            _check_pattern(arguments[-1] if arguments else None)
        case Literal(value=value) if not _is_constant(value):
            raise SyntaxProblem("a constant is out of its limits")
        case Has() | _:
            return


def _is_constant(value: object) -> bool:
    if isinstance(value, UInt | int) and not isinstance(value, bool):
        return -INT_MAX - 1 <= value <= INT_MAX
    return value is None or isinstance(value, bool | float | str | bytes)


def _check_pattern(pattern: Node | None) -> None:
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise SyntaxProblem("matches needs its regular expression as a constant text")
    try:
        instructions = program(pattern.value).size if cost(pattern.value) <= MOST_COST else MOST_COST
    except InvalidPattern:
        raise SyntaxProblem("a regular expression is not valid") from None
    if instructions > MOST_PATTERN:
        raise SyntaxProblem(f"a regular expression is too large: at most {MOST_PATTERN} instructions are evaluated")
