"""Placeholders → values. What is in a Secret stays a reference to it.

- `Wrong`: impossible until the Workload (or the platform) is changed. `Waiting`: a claim is not bound yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import msgspec

from seamark.families.score.orchestrator.placeholders import Reference, parse, resources, texts
from seamark.families.score.orchestrator.state import Seen


class Wrong(ValueError):
    """What is wrong, where, in words for the user."""


class Waiting(Exception):
    """Which resource is waited for."""


@dataclass(frozen=True)
class SecretKey:
    name: str
    key: str


Resolved = tuple[str | SecretKey, ...]


def resolve(text: str, seen: Seen, where: str) -> Resolved:
    """The text in parts, neighbouring literals joined."""
    found = (lookup(part, seen, where) if isinstance(part, Reference) else part for part in parse(text))
    parts: list[str | SecretKey] = []
    for literal, group in groupby(found, lambda value: isinstance(value, str)):
        values = list(group)
        parts += ("".join(map(str, values)),) if literal else values
    return tuple(parts)


def plain(text: str, seen: Seen, where: str) -> str:
    """A text that no secret may be in."""
    parts = resolve(text, seen, where)
    for part in parts:
        if isinstance(part, SecretKey):
            raise Wrong(f"{where}: a secret ({part.key}) stays a reference: it can be in a variable, or a whole file")
    return "".join(str(part) for part in parts)


def plain_values(value: Any, seen: Seen, where: str) -> Any:
    """Every text in a value."""
    if isinstance(value, str):
        return plain(value, seen, where)
    if isinstance(value, dict):
        return {name: plain_values(value[name], seen, f"{where}.{name}") for name in sorted(value)}
    if isinstance(value, list | tuple):
        return [plain_values(element, seen, f"{where}[{number}]") for number, element in enumerate(value)]
    return value


def lookup(reference: Reference, seen: Seen, where: str) -> str | SecretKey:
    match reference.path:
        case ("metadata", *rest):
            return _metadata(reference, rest, seen, where)
        case ("resources", key, *rest):
            return _resource(reference, key, ".".join(rest), seen, where)
    kept = "write $${...} for what is no placeholder" + (", or set noExpand" if ".files[" in where else "")
    raise Wrong(f"{where}: {reference} names nothing: a placeholder begins with metadata or resources; {kept}")


def _metadata(reference: Reference, path: list[str], seen: Seen, where: str) -> str:
    metadata = seen.workload.metadata
    found: Any = {
        **(seen.workload.spec.metadata or {}),
        "name": metadata.name,
        "namespace": metadata.namespace,
        "labels": metadata.labels or {},
        "annotations": metadata.annotations or {},
    }
    if path[:1] in (["labels"], ["annotations"]):
        path = [path[0], ".".join(path[1:])]  # their names have dots: these need no escape
    for name in path or [""]:
        if not isinstance(found, dict) or name not in found:
            raise Wrong(f"{where}: {reference} names nothing in the metadata of the Workload")
        found = found[name]
    return found if isinstance(found, str) else msgspec.json.encode(found).decode()


def _resource(reference: Reference, key: str, name: str, seen: Seen, where: str) -> str | SecretKey:
    if key not in seen.resources:
        there = ", ".join(sorted(seen.resources)) or "none"
        raise Wrong(f"{where}: {reference} names nothing: of resources there are {there}")
    if not name:
        raise Wrong(f"{where}: {reference} names a resource and no output; alone it is the source of a volume")
    outputs = seen.outputs.get(key)
    if outputs is None:
        raise Waiting(key)
    if name in outputs.secret_keys:
        return SecretKey(outputs.secret, name)
    if name in outputs.values:
        return outputs.values[name]
    raise Wrong(f"{where}: {reference} names nothing: {key} gives {', '.join(outputs.names) or 'nothing'}")


def expanded_size(value: Any, seen: Seen, where: str) -> int:
    """The characters of all texts in a value with their placeholders replaced, without building them.

    Raises Wrong for a placeholder that names nothing. What a claim gives later is not known yet, and not counted.
    """
    size = 0
    for part in chain.from_iterable(map(parse, texts(value))):
        try:
            found = lookup(part, seen, where) if isinstance(part, Reference) else part
        except Waiting:
            continue
        size += len(found) if isinstance(found, str) else 0
    return size


def cycle(params: Mapping[str, Any]) -> list[str]:
    """Resources whose parameters refer to each other in a circle, in order; empty when none do."""
    needs = {key: [name for name in resources(value) if name in params] for key, value in sorted(params.items())}
    done: set[str] = set()

    def walk(key: str, path: list[str]) -> list[str]:
        if key in path:
            return [*path[path.index(key) :], key]
        if key in done:
            return []
        for other in needs[key]:
            if found := walk(other, [*path, key]):
                return found
        done.add(key)
        return []

    return next((found for key in needs if (found := walk(key, []))), [])
