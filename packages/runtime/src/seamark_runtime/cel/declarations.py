"""Names that an expression may use, checked on the syntax tree before anything is evaluated.

- A `Shape` is what is known of a value: the fields of an object, a type, or None where nothing is known.
- A variable that is not declared, a field that a declared object does not have, and a function that the library does
  not have, is a `SyntaxProblem`. `has()` and optional access (`.?`) ask for fields that may be missing: allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark_runtime.cel.access import unescape
from seamark_runtime.cel.cost import resolve
from seamark_runtime.cel.functions import Library
from seamark_runtime.cel.syntax import (
    Binary,
    Bind,
    Call,
    Conditional,
    Has,
    Index,
    ListOf,
    Literal,
    Logical,
    Loop,
    MapOf,
    Name,
    Node,
    OptionalMap,
    Select,
    Unary,
)
from seamark_runtime.cel.values import TYPE_NAMES, SyntaxProblem, Type

Shape = Any  # Mapping[str, Shape] | type | None
_YIELD_BOOL = ("==", "!=", "<", "<=", ">", ">=", "in")


def check_condition(tree: Node, declared: Mapping[str, Shape], library: Library) -> None:
    """Refuse names that are not declared, and an expression whose result is known not to be true or false."""
    shape = _Checker(library).shape(tree, declared)
    if shape is not None and shape is not bool:
        raise SyntaxProblem("its result is neither true nor false: write a comparison")


class _Checker:
    def __init__(self, library: Library) -> None:
        self._library = library

    def shape(self, node: Node, scope: Mapping[str, Shape]) -> Shape:  # noqa: PLR0911  # one per kind of node
        match node:
            case Literal():
                return type(node.value)
            case Name():
                return _variable(node.name, scope)
            case Select(optional=False):
                return _field(node.target, self.shape(node.target, scope), unescape(node.field))
            case Index(optional=False, index=Literal(value=str(field))):
                return _field(node.target, self.shape(node.target, scope), field)
            case Conditional():
                _, yes, no = (self.shape(child, scope) for child in node.children)
                return yes if yes is no else None
            case Bind():
                return self.shape(node.body, {**scope, node.variable: self.shape(node.value, scope)})
            case Loop():
                return self._loop(node, scope)
            case OptionalMap():
                self.shape(node.source, scope)
                self.shape(node.body, {**scope, node.variable: None})
                return None
            case Call():
                function, arguments = resolve(node, self._library)
                if function is None:
                    raise _unknown_function(node, scope)
                for argument in arguments:
                    self.shape(argument, scope)
                return None
        for child in node.children:
            self.shape(child, scope)
        return _result(node)

    def _loop(self, node: Loop, scope: Mapping[str, Shape]) -> Shape:
        self.shape(node.over, scope)
        inside = {**scope, node.variable: None}
        for child in node.children[1:]:
            self.shape(child, inside)
        return list if node.kind in ("map", "filter") else bool


def _result(node: Node) -> Shape:
    match node:
        case Has() | Logical() | Unary(operator="!"):
            return bool
        case Binary():
            return bool if node.operator in _YIELD_BOOL else float
        case Unary():
            return float
        case ListOf():
            return list
        case MapOf():
            return dict
    return None


def _unknown_function(call: Call, scope: Mapping[str, Shape]) -> SyntaxProblem:
    name = call.name[:50]
    if isinstance(call.target, Name) and call.target.name not in scope:
        name = f"{call.target.name[:50]}.{name}"
    return SyntaxProblem(f"the function '{name}' is not known here")


def _variable(name: str, scope: Mapping[str, Shape]) -> Shape:
    if name in scope:
        return scope[name]
    if name in TYPE_NAMES:
        return Type
    raise SyntaxProblem(f"the name '{name[:50]}' is not known here: {', '.join(sorted(scope))} are")


def _field(target: Node, shape: Shape, field: str) -> Shape:
    if isinstance(shape, Mapping):
        if field in shape:
            return shape[field]
        raise SyntaxProblem(f"{_path(target)} has no field '{field[:50]}': it has {', '.join(sorted(shape))}")
    if isinstance(shape, type) and shape is not dict:
        raise SyntaxProblem(f"{_path(target)} is no object and has no field '{field[:50]}'")
    return None


def _path(node: Node) -> str:
    """An object as a message names it."""
    match node:
        case Name():
            return f"'{node.name[:50]}'"
        case Select():
            return f"'{_path(node.target).strip(chr(39))}.{node.field[:50]}'"
    return "the object"
