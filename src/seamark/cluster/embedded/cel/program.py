"""From a tree to a function: every node becomes a closure once, and evaluation only calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seamark.cluster.embedded.cel.library import FUNCTIONS, NAMESPACES
from seamark.cluster.embedded.cel.macros import MACROS
from seamark.cluster.embedded.cel.operators import OPERATORS, logical_and, logical_or
from seamark.cluster.embedded.cel.parser import Node, Parser
from seamark.cluster.embedded.cel.values import NONE, CelError, Optional, Type, no_overload

Env = dict[str, Any]
Evaluate = Callable[[Env], Any]

_TYPES = ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type")

# Property names that are no identifiers of CEL are written with these.
_ESCAPED = {"__underscores__": "__", "__dot__": ".", "__dash__": "-", "__slash__": "/"}


def unescape(name: str) -> str:
    if "__" not in name:
        return name
    for escaped, plain in _ESCAPED.items():
        name = name.replace(escaped, plain)
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        return name[2:-2]
    return name


class Program:
    """A compiled expression. `names` are the variables it reads."""

    __slots__ = ("_evaluate", "names", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        compiler = Compiler()
        self._evaluate = compiler.compile(Parser(text).parse())
        self.names = frozenset(compiler.names)

    def __call__(self, env: Env) -> Any:
        return self._evaluate(env)


_PROGRAMS: dict[str, Program] = {}


def compile_expression(text: str) -> Program:
    """The program of an expression; equal texts share one."""
    program = _PROGRAMS.get(text)
    if program is None:
        if len(_PROGRAMS) > 4096:
            _PROGRAMS.clear()
        program = _PROGRAMS[text] = Program(text)
    return program


class Compiler:
    """Turns nodes into closures, and remembers which variables they read."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def compile(self, node: Node) -> Evaluate:
        handler: Callable[..., Evaluate] = getattr(self, f"_{node[0]}")
        return handler(*node[1:])

    def _literal(self, value: Any) -> Evaluate:
        return lambda env: value

    def _name(self, name: str) -> Evaluate:
        self.names.add(name)

        def read(env: Env) -> Any:
            if name in env:
                return env[name]
            if name in _TYPES:
                return Type(name)
            raise CelError(f"undeclared reference to '{name}'")

        return read

    def _select(self, target: Node, name: str) -> Evaluate:
        evaluate, key = self.compile(target), unescape(name)

        def select(env: Env) -> Any:
            return selected(evaluate(env), key)

        return select

    def _optselect(self, target: Node, name: str) -> Evaluate:
        evaluate, key = self.compile(target), unescape(name)
        return lambda env: _maybe(evaluate(env), key)

    def _index(self, target: Node, index: Node) -> Evaluate:
        evaluate, position = self.compile(target), self.compile(index)
        return lambda env: _indexed(evaluate(env), position(env))

    def _optindex(self, target: Node, index: Node) -> Evaluate:
        evaluate, position = self.compile(target), self.compile(index)
        return lambda env: _maybe(evaluate(env), position(env))

    def _list(self, items: list[Node]) -> Evaluate:
        compiled = [self.compile(item) for item in items]
        return lambda env: [item(env) for item in compiled]

    def _map(self, entries: list[tuple[Node, Node]]) -> Evaluate:
        compiled = [(self.compile(key), self.compile(value)) for key, value in entries]
        return lambda env: {key(env): value(env) for key, value in compiled}

    def _not(self, operand: Node) -> Evaluate:
        evaluate = self.compile(operand)

        def negate(env: Env) -> Any:
            value = evaluate(env)
            if not isinstance(value, bool):
                raise no_overload("!_")
            return not value

        return negate

    def _negate(self, operand: Node) -> Evaluate:
        evaluate = self.compile(operand)

        def negate(env: Env) -> Any:
            value = evaluate(env)
            if isinstance(value, bool) or not hasattr(value, "__neg__"):
                raise no_overload("-_")
            return -value

        return negate

    def _cond(self, condition: Node, yes: Node, no: Node) -> Evaluate:
        test, then, otherwise = self.compile(condition), self.compile(yes), self.compile(no)

        def choose(env: Env) -> Any:
            value = test(env)
            if not isinstance(value, bool):
                raise no_overload("_?_:_")
            return then(env) if value else otherwise(env)

        return choose

    def _binary(self, operator: str, left: Node, right: Node) -> Evaluate:
        one, other = self.compile(left), self.compile(right)
        if operator == "&&":
            return lambda env: logical_and(one, other, env)
        if operator == "||":
            return lambda env: logical_or(one, other, env)
        function = OPERATORS[operator]
        return lambda env: function(one(env), other(env))

    def _call(self, name: str, target: Node | None, arguments: list[Node]) -> Evaluate:
        macro = MACROS.get((name, target is not None, len(arguments)))
        if macro is not None:
            compiled = macro(self, target, arguments)
            if compiled is not None:
                return compiled
        compiled_arguments = [self.compile(argument) for argument in arguments]
        if target is not None and target[0] == "name" and f"{target[1]}.{name}" in NAMESPACES:
            namespaced = NAMESPACES[f"{target[1]}.{name}"]
            return lambda env: namespaced(*[argument(env) for argument in compiled_arguments])
        if target is not None:
            compiled_arguments.insert(0, self.compile(target))
        function = FUNCTIONS.get((name, target is not None))
        if function is None:
            from seamark.cluster.embedded.cel.values import SyntaxProblem  # noqa: PLC0415

            raise SyntaxProblem(f"undeclared reference to '{name}'")

        def call(env: Env) -> Any:
            values = [argument(env) for argument in compiled_arguments]
            try:
                return function(*values)
            except (TypeError, AttributeError):
                raise no_overload(name) from None

        return call


def selected(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        if key in value:
            return value[key]
        raise CelError(f"no such key: {key}")
    if isinstance(value, Optional):
        return _maybe(value, key)
    raise no_overload(f"select {key}")


def _indexed(value: Any, index: Any) -> Any:
    if isinstance(value, Optional):
        return _maybe(value, index)
    if isinstance(value, dict):
        if index in value:
            return value[index]
        raise CelError(f"no such key: {index}")
    if isinstance(value, list) and isinstance(index, (int, float)) and not isinstance(index, bool):
        if 0 <= index < len(value):
            return value[int(index)]
        raise CelError(f"index out of bounds: {index}")
    raise no_overload("_[_]")


def _maybe(value: Any, key: Any) -> Optional:
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    if isinstance(value, dict):
        return Optional(present=True, value=value[key]) if key in value else NONE
    if isinstance(value, list) and isinstance(key, int):
        return Optional(present=True, value=value[key]) if 0 <= key < len(value) else NONE
    raise no_overload("_?._")
