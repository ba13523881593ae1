"""Macros: calls that look at the tree of their arguments, not at their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from seamark.cluster.embedded.cel.parser import Node
from seamark.cluster.embedded.cel.values import NONE, CelError, Optional, no_overload

if TYPE_CHECKING:
    from seamark.cluster.embedded.cel.program import Compiler, Env, Evaluate

Macro = Callable[["Compiler", Node | None, list[Node]], "Evaluate | None"]


def _has(compiler: Compiler, target: Node | None, arguments: list[Node]) -> Evaluate | None:
    if arguments[0][0] not in ("select", "optselect"):
        return None
    from seamark.cluster.embedded.cel.program import unescape  # noqa: PLC0415 - the two modules need each other

    evaluate, key = compiler.compile(arguments[0][1]), unescape(arguments[0][2])

    def has(env: Env) -> bool:
        value = evaluate(env)
        if isinstance(value, Optional):
            value = value.value if value.present else {}
        if not isinstance(value, dict):
            raise no_overload("has")
        return key in value

    return has


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, dict)):
        return value
    raise no_overload("comprehension")


def _loop(
    compiler: Compiler, target: Node | None, arguments: list[Node]
) -> tuple[Evaluate, str, list[Evaluate]] | None:
    if target is None or arguments[0][0] != "name":
        return None
    known = arguments[0][1] in compiler.names
    parts = [compiler.compile(argument) for argument in arguments[1:]]
    if not known:
        compiler.names.discard(arguments[0][1])
    return compiler.compile(target), arguments[0][1], parts


def _all(compiler: Compiler, target: Node | None, arguments: list[Node]) -> Evaluate | None:
    return _quantified(compiler, target, arguments, stop=False)


def _exists(compiler: Compiler, target: Node | None, arguments: list[Node]) -> Evaluate | None:
    return _quantified(compiler, target, arguments, stop=True)


def _quantified(compiler: Compiler, target: Node | None, arguments: list[Node], *, stop: bool) -> Evaluate | None:
    loop = _loop(compiler, target, arguments)
    if loop is None:
        return None
    items, name, (test,) = loop

    def check(env: Env) -> bool:
        """One item may decide whatever another one's error."""
        inner = dict(env)
        failure: CelError | None = None
        for item in _items(items(env)):
            inner[name] = item
            try:
                if bool(test(inner)) is stop:
                    return stop
            except CelError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return not stop

    return check


def _exists_one(compiler: Compiler, target: Node | None, arguments: list[Node]) -> Evaluate | None:
    loop = _loop(compiler, target, arguments)
    if loop is None:
        return None
    items, name, (test,) = loop
    return lambda env: sum(1 for item in _items(items(env)) if test({**env, name: item})) == 1


def _filter(compiler: Compiler, target: Node | None, arguments: list[Node]) -> Evaluate | None:
    loop = _loop(compiler, target, arguments)
    if loop is None:
        return None
    items, name, (test,) = loop
    return lambda env: [item for item in _items(items(env)) if test({**env, name: item})]


def _map(compiler: Compiler, target: Node | None, arguments: list[Node]) -> Evaluate | None:
    loop = _loop(compiler, target, arguments)
    if loop is None:
        return None
    items, name, parts = loop
    test, make = parts if len(parts) == 2 else (None, parts[0])

    def mapped(env: Env) -> list[Any]:
        inner = dict(env)
        result = []
        for item in _items(items(env)):
            inner[name] = item
            if test is None or test(inner):
                result.append(make(inner))
        return result

    return mapped


def _bind(compiler: Compiler, target: Node | None, arguments: list[Node]) -> Evaluate | None:
    if target != ("name", "cel") or arguments[0][0] != "name":
        return None
    name = arguments[0][1]
    value, body = compiler.compile(arguments[1]), compiler.compile(arguments[2])
    compiler.names.discard(name)
    return lambda env: body({**env, name: value(env)})


def _opt_map(compiler: Compiler, target: Node | None, arguments: list[Node]) -> Evaluate | None:
    return _optional(compiler, target, arguments, flat=False)


def _opt_flat_map(compiler: Compiler, target: Node | None, arguments: list[Node]) -> Evaluate | None:
    return _optional(compiler, target, arguments, flat=True)


def _optional(compiler: Compiler, target: Node | None, arguments: list[Node], *, flat: bool) -> Evaluate | None:
    loop = _loop(compiler, target, arguments)
    if loop is None:
        return None
    source, name, (make,) = loop

    def mapped(env: Env) -> Any:
        value = source(env)
        if not isinstance(value, Optional):
            raise no_overload("optMap")
        if not value.present:
            return NONE
        result = make({**env, name: value.value})
        return result if flat else Optional(present=True, value=result)

    return mapped


MACROS: dict[tuple[str, bool, int], Macro] = {
    ("has", False, 1): _has,
    ("all", True, 2): _all,
    ("exists", True, 2): _exists,
    ("exists_one", True, 2): _exists_one,
    ("existsOne", True, 2): _exists_one,
    ("filter", True, 2): _filter,
    ("map", True, 2): _map,
    ("map", True, 3): _map,
    ("bind", True, 3): _bind,
    ("optMap", True, 2): _opt_map,
    ("optFlatMap", True, 2): _opt_flat_map,
}
