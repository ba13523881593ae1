"""From an OpenAPI schema to the fields that a tenant can set, and from a field to its place in a manifest.

- A path has a step for each level: a property's name, `[]` for an element of a list, `*` for a value of a map.
- A list and a map are fields themselves, beside what is in them. An object with named properties is none.
- What a schema leaves open (`x-kubernetes-preserve-unknown-fields`) is one field of type `any`; what a base manifest
  has below it are fields as well, with the types found there.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ELEMENT, VALUE = "[]", "*"
OURS_TO_SET = ("apiVersion", "kind", "metadata", "status")
NUMBERS = ("integer", "number")
Path = tuple[str, ...]
Json = dict[str, Any]


@dataclass(frozen=True, order=True)
class Field:
    """One place of a kind that a tenant can set. `type` is string, number, boolean, list, map or any."""

    kind: str
    path: Path
    type: str

    @property
    def text(self) -> str:
        return render(self.path)

    def __str__(self) -> str:
        return f"{self.kind} {self.text}"


def render(path: Path) -> str:
    """As people write it: spec.rules[].matches[].path.value, metadata.annotations[a.b/c]."""
    text = ""
    for step in path:
        if step == ELEMENT:
            text += "[]"
        elif step == VALUE or not any(sign in step for sign in "./"):
            text += f".{step}" if text else step
        else:
            text += f"[{step}]"
    return text


def fields(kind: str, schema: Json, definitions: Mapping[str, Json] | None = None) -> list[Field]:
    """All fields of a kind but its type, metadata and status. `definitions` are what `$ref` leads to."""
    whole = _resolved(schema, definitions or {})
    found: dict[Path, str] = {}
    for name, part in (whole.get("properties") or {}).items():
        if name not in OURS_TO_SET:
            for path, type_ in _walk(part, (name,), definitions or {}):
                found[path] = "any" if "any" in (type_, found.get(path)) else type_
    return [Field(kind, path, type_) for path, type_ in found.items()]


def _resolved(schema: Json, definitions: Mapping[str, Json]) -> Json:
    """Follows `$ref`, alone or as the one part of `allOf`, as the API server publishes built-in kinds."""
    while True:
        parts = [schema, *schema.get("allOf", ())]
        reference = next((part["$ref"] for part in parts if "$ref" in part), None)
        if reference is None:
            return schema
        schema = definitions[str(reference).rpartition("/")[2]]


def _walk(schema: Json, path: Path, definitions: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    schema = _resolved(schema, definitions)
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        yield path, "string"
        return
    if schema.get("x-kubernetes-preserve-unknown-fields") or not ("type" in schema or "properties" in schema):
        yield path, "any"
    match schema.get("type", "object"):
        case "array":
            yield path, "list"
            yield from _walk(schema["items"], (*path, ELEMENT), definitions)
        case "object":
            values = schema.get("additionalProperties")
            if values:
                yield path, "map"
                yield from _walk(values, (*path, VALUE), definitions) if isinstance(values, dict) else ()
            for name, part in (schema.get("properties") or {}).items():
                yield from _walk(part, (*path, name), definitions)
        case type_:
            yield path, "number" if type_ in NUMBERS else str(type_)


def below(field: Field, bases: Sequence[Json]) -> list[Field]:
    """What the base manifests have below a field that the schema leaves open."""
    found: dict[Path, str] = {}
    for base in bases:
        place = locate(base, field.path)
        value = None if place is None else read(base, place)
        for path, type_ in _types(value, field.path):
            found.setdefault(path, type_)
    found.pop(field.path, None)
    return [Field(field.kind, path, type_) for path, type_ in found.items()]


def _types(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    match value:
        case dict():
            for name, inner in value.items():
                yield from _types(inner, (*path, name))
        case list():
            yield path, "list"
            for inner in value:
                yield from _types(inner, (*path, ELEMENT))
        case bool():
            yield path, "boolean"
        case int() | float():
            yield path, "number"
        case str():
            yield path, "string"


# ---- places


Place = tuple[str | int, ...]


def locate(base: Any, path: Path) -> Place | None:
    """The first place of a manifest that the path leads to. Its last step may be missing there, if it is a name."""
    return _found(base, path, whole=True) or _found(base, path, whole=False)


def reaches(base: Any, path: Path) -> bool:
    """Whether the manifest has a value there."""
    return _found(base, path, whole=True) is not None


def _found(value: Any, path: Path, *, whole: bool) -> Place | None:
    if not path:
        return ()
    step, rest = path[0], path[1:]
    for key in _keys(value, step):
        if not _has(value, key):
            return (key,) if not rest and not whole else None
        place = _found(value[key], rest, whole=whole)
        if place is not None:
            return (key, *place)
    return None


def _keys(value: Any, step: str) -> Sequence[str | int]:
    if step == ELEMENT:
        return range(len(value)) if isinstance(value, list) else ()
    if not isinstance(value, dict):
        return ()
    return tuple(value) if step == VALUE else (step,)


def _has(value: Any, key: str | int) -> bool:
    return key in value if isinstance(value, dict) else True


def read(base: Any, place: Place) -> Any:
    """What is there; None where nothing is."""
    for key in place:
        if isinstance(base, dict) and key not in base:
            return None
        base = base[key]
    return base


def changed(base: Json, place: Place, value: Any) -> Json:
    """A copy of the manifest with another value there."""
    whole = copy.deepcopy(base)
    inner: Any = whole
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return whole
