"""`${metadata.name}`, `${resources.db.host}` and `$${literal}` in a Workload's texts.

- A text is parsed into parts: literal text, and references by their path. What is no placeholder stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PLACE = re.compile(r"\$\$|\$\{([^}]*)\}")


@dataclass(frozen=True)
class Reference:
    """A placeholder, by the names on its way."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        return "${" + ".".join(self.path) + "}"


Part = str | Reference


def parse(text: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    literal, end = "", 0
    for match in PLACE.finditer(text):
        literal += text[end : match.start()]
        end = match.end()
        if match[1] is None:
            literal += "$"  # $$ is a dollar
            continue
        if literal:
            parts.append(literal)
        parts.append(Reference(tuple(match[1].strip().split("."))))
        literal = ""
    literal += text[end:]
    return (*parts, literal) if literal else tuple(parts)


def references(value: Any) -> Iterator[Reference]:
    """Every placeholder anywhere in a value."""
    if isinstance(value, str):
        yield from (part for part in parse(value) if isinstance(part, Reference))
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from references(value[key])
    elif isinstance(value, list | tuple):
        for one in value:
            yield from references(one)


def resources(value: Any) -> list[str]:
    """The resources that a value refers to, each once."""
    return list(dict.fromkeys(one.path[1] for one in references(value) if one.path[0] == "resources" and one.path[1:]))
