"""Changes to a Score file before it is checked: those of a second file, and those of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seamark.families.score.scorefile.rules import Fault, shown
from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_yaml
from seamark_runtime.untrusted.numbers import InvalidNumber, integer

YAML = Limits(unique_keys=True, core_schema=True)
APPEND = "-1"


def merged(document: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Maps are merged, null removes, everything else replaces."""
    found = dict(document)
    for name, value in overrides.items():
        if value is None:
            found.pop(name, None)
        elif isinstance(value, dict) and isinstance(found.get(name), dict):
            found[name] = merged(found[name], value)
        else:
            found[name] = value
    return found


def changed(document: Any, override: str) -> Any:
    r"""With one `path=value`: the value is YAML, none removes, `\.` is a dot in a name, -1 appends to a list."""
    path, given, value = override.partition("=")
    if not given or not path:
        raise Fault(f"--override-property {override}: it must be PATH=VALUE, like containers.main.image=nginx")
    try:
        new = decode_yaml(value, YAML) if value else None
    except Malformed as error:
        raise Fault(f"--override-property {path}: its value is {error}") from None
    steps = [step.replace("\0", ".") for step in path.replace("\\.", "\0").split(".")]
    return _changed(document, steps, new, ()) if value else _removed(document, steps, ())


def _changed(node: Any, steps: Sequence[str], value: Any, gone: tuple[str, ...]) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(node, list):
        if step == APPEND:
            return [*node, _changed({}, rest, value, (*gone, step))]
        place = _index(node, steps, gone)
        return [*node[:place], _changed(node[place], rest, value, (*gone, step)), *node[place + 1 :]]
    if not isinstance(node, dict):
        raise _no_place(node, steps, gone)
    return {**node, step: _changed(node.get(step, {}), rest, value, (*gone, step))}


def _removed(node: Any, steps: Sequence[str], gone: tuple[str, ...]) -> Any:
    step, rest = steps[0], steps[1:]
    if isinstance(node, list):
        place = _index(node, steps, gone)
        new = [_removed(node[place], rest, (*gone, step))] if rest else []
        return [*node[:place], *new, *node[place + 1 :]]
    if not isinstance(node, dict):
        raise _no_place(node, steps, gone)
    if not rest or step not in node:
        return {name: value for name, value in node.items() if name != step}
    return {**node, step: _removed(node[step], rest, (*gone, step))}


def _index(node: list[Any], steps: Sequence[str], gone: tuple[str, ...]) -> int:
    try:
        return integer(steps[0], 0, len(node) - 1)
    except InvalidNumber:
        where = ".".join(gone)
        raise Fault(f"--override-property {'.'.join((*gone, *steps))}: {where} has no element {steps[0]}") from None


def _no_place(node: Any, steps: Sequence[str], gone: tuple[str, ...]) -> Fault:
    where = ".".join(gone)
    return Fault(f"--override-property {'.'.join((*gone, *steps))}: {where} is {shown(node)}, neither a map nor a list")
