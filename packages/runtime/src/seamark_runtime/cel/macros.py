"""Macros: calls that become nodes of their own, because they bind a variable or look at a field."""

from __future__ import annotations

from seamark_runtime.cel.syntax import Bind, Call, Has, Loop, Name, Node, OptionalMap, Select

_LOOPS = {
    **{name: name for name in ("all", "exists", "exists_one", "filter", "map")},
    "existsOne": "exists_one",
}


def expand(call: Call) -> Node:
    """The macro's node, or the call itself."""
    if call.target is None:
        return _has(call)
    if not call.arguments or not isinstance(call.arguments[0], Name):
        return call
    variable, parts = call.arguments[0].name, call.arguments[1:]
    return _loop(call, call.target, variable, parts) or _binding(call, call.target, variable, parts) or call


def _has(call: Call) -> Node:
    match call.name, call.arguments:
        case "has", [Select(target=target, field=field)]:
            return Has(target, field)
    return call


def _loop(call: Call, over: Node, variable: str, parts: list[Node]) -> Node | None:
    if len(parts) == 1 and call.name in _LOOPS:
        return Loop(_LOOPS[call.name], over, variable, parts[0])
    if len(parts) == 2 and call.name == "map":
        return Loop("map", over, variable, body=parts[1], test=parts[0])
    return None


def _binding(call: Call, target: Node, variable: str, parts: list[Node]) -> Node | None:
    match call.name, parts:
        case "bind", [value, body] if isinstance(target, Name) and target.name == "cel":
            return Bind(variable, value, body)
        case ("optMap" | "optFlatMap") as name, [body]:
            return OptionalMap(target, variable, body, flat=name == "optFlatMap")
    return None
