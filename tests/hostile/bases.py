"""One valid manifest, or several, for each kind that a tenant may write: `manifests/*.yaml`.

- `object` is what is attacked. `beside` are made before it: what it refers to, or what refers to it.
- `shown_by`: the kind beside it whose status tells what came of it, where its own kind has no status.
- `{name}` is the name of the case; `{certificate}`, `{key}` and `{authority}` are PEM of the hostile tenant's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.hostile.schema import Field, Json, below, fields, locate, reaches, read

FOLDER = Path(__file__).parent / "manifests"


@dataclass(frozen=True)
class Base:
    object: Json
    beside: tuple[Json, ...] = ()
    shown_by: str = ""

    @property
    def kind(self) -> str:
        return str(self.object["kind"])

    @property
    def api_version(self) -> str:
        return str(self.object["apiVersion"])

    def named(self, words: Mapping[str, str]) -> Base:
        """With the words put in for `{name}` and the others."""
        return Base(filled(self.object, words), tuple(filled(one, words) for one in self.beside), self.shown_by)


def load(folder: Path = FOLDER) -> dict[str, list[Base]]:
    """By kind."""
    found: dict[str, list[Base]] = {}
    for file in sorted(folder.glob("*.yaml")):
        for entry in yaml.safe_load(file.read_text()):
            metadata = entry["object"]["metadata"]
            metadata.update(annotations=metadata.get("annotations", {}), labels=metadata.get("labels", {}))
            base = Base(entry["object"], tuple(entry.get("beside", ())), entry.get("shown_by", ""))
            found.setdefault(base.kind, []).append(base)
    return found


def filled(value: Any, words: Mapping[str, str]) -> Any:
    match value:
        case str():
            for name, word in words.items():
                value = value.replace(f"{{{name}}}", word)
            return value
        case dict():
            return {filled(key, words): filled(inner, words) for key, inner in value.items()}
        case list():
            return [filled(inner, words) for inner in value]
    return value


def all_fields(kind: str, schema: Json, definitions: Mapping[str, Json], bases: Iterable[Base]) -> list[Field]:
    """The schema's fields, and what the bases have where the schema is open."""
    found = {field.path: field for field in fields(kind, schema, definitions)}
    objects = [base.object for base in bases]
    for field in [field for field in found.values() if field.type == "any"]:
        for inner in below(field, objects):
            found.setdefault(inner.path, inner)
    return list(found.values())


def base_for(field: Field, bases: Iterable[Base]) -> Base | None:
    """The first base that has a value there; else the first that has a place for one."""
    bases = list(bases)
    having = [base for base in bases if reaches(base.object, field.path)]
    placed = [base for base in bases if locate(base.object, field.path) is not None]
    return next(iter(having or placed), None)


def value_at(base: Base, field: Field) -> Any:
    place = locate(base.object, field.path)
    return None if place is None else read(base.object, place)
