"""The part of JSONPath that printer columns use: `.a.b`, `['k']`, `[0]`, `[*]`, `[?(@.type=="Ready")]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

Step = Callable[[Any], Iterator[Any]]

_TOKEN = re.compile(
    r"""\.(?P<name>[\w$-]+(?:\\\.[\w$-]+)*)
      | \[['"](?P<quoted>[^'"]+)['"]\]
      | \[(?P<index>-?\d+)\]
      | (?P<all>\[\*\]|\.\*)
      | \[\?\(@\.(?P<key>[\w.-]+)\s*==\s*['"](?P<value>[^'"]*)['"]\)\]""",
    re.VERBOSE,
)


def find(path: str, document: Any) -> list[Any]:
    """All values of the path; empty if there are none."""
    found = [document]
    for step in _steps(path):
        found = [inner for outer in found for inner in step(outer)]
    return found


@cache
def _steps(path: str) -> tuple[Step, ...]:
    path = path.strip().removeprefix("{").removesuffix("}")
    path = path if path.startswith((".", "[")) else f".{path}"
    steps: list[Step] = []
    place = 0
    while place < len(path):
        token = _TOKEN.match(path, place)
        if token is None:
            return (lambda _value: iter(()),)  # an unsupported form has no value
        steps.append(_step(token))
        place = token.end()
    return tuple(steps)


def _step(token: re.Match[str]) -> Step:
    parts = token.groupdict()
    if name := parts["name"] or parts["quoted"]:
        key = name.replace("\\.", ".")
        return lambda value: iter([value[key]] if isinstance(value, dict) and key in value else [])
    if parts["index"] is not None:
        place = int(parts["index"])
        return lambda value: iter(value[place:][:1] if isinstance(value, list) else [])
    if parts["all"]:
        return lambda value: iter(
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        )
    wanted_key, wanted = parts["key"], parts["value"]
    return lambda value: (
        entry for entry in (value if isinstance(value, list) else ()) if find(f".{wanted_key}", entry) == [wanted]
    )
