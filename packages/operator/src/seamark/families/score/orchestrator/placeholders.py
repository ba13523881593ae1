r"""`${metadata.name}`, `${resources.db.host}`, `${metadata.annotations.a\.b}`, `$${literal}` in a Workload's texts.

- A text is parsed into parts: literal text, and references by their path. What is no placeholder stays as it is.
- The time to parse is linear in the text: every character is looked at once, and no position is tried again.
- How much there is to parse is limited (`check_amount`): each reconcile of a Workload parses its texts several times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LONGEST_SHOWN = 100  # characters of a placeholder in a message
MOST_DOLLARS = 5_000  # characters $ in the texts of a Workload, each the possible start of a placeholder
MOST_VALUES = 10_000  # texts, numbers, maps and lists in which placeholders are looked for


@dataclass(frozen=True)
class Reference:
    """A placeholder, by the names on its way."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        name = ".".join(self.path)
        return "${" + (name if len(name) <= LONGEST_SHOWN else name[:LONGEST_SHOWN] + "...") + "}"


Part = str | Reference


def parse(text: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    literal: list[str] = []  # the pieces of the literal text before `copied`
    copied = position = 0
    last_brace = text.rfind("}")
    while (position := text.find("$", position)) >= 0:
        if text.startswith("$", position + 1):  # $$ is a dollar
            literal.append(text[copied : position + 1])
            copied = position = position + 2
        elif text.startswith("{", position + 1) and position < last_brace:
            end = text.index("}", position)
            literal.append(text[copied:position])
            parts += filter(None, ("".join(literal),))
            parts.append(Reference(names_in(text[position + 2 : end].strip())))
            literal.clear()
            copied = position = end + 1
        else:
            position += 1
    literal.append(text[copied:])
    return (*parts, *filter(None, ("".join(literal),)))


def names_in(path: str) -> tuple[str, ...]:
    r"""The names between the dots of a path. `\.` is a dot in a name."""
    names: list[list[str]] = []
    continued = False
    for piece in path.split("."):
        if continued:
            names[-1].append(piece)
        else:
            names.append([piece])
        continued = piece.endswith("\\")
    return tuple(".".join([*(piece.removesuffix("\\") for piece in pieces[:-1]), pieces[-1]]) for pieces in names)


class TooMany(ValueError):
    """More to parse than a Workload may have, in words."""


def check_amount(value: Any) -> None:
    """Raises TooMany; reads at most as many values as are allowed."""
    dollars = 0
    for number, each in enumerate(_nodes(value), start=1):
        dollars += each.count("$") if isinstance(each, str) else 0
        if number > MOST_VALUES:
            raise TooMany(f"more than {MOST_VALUES} values in which placeholders may be; use fewer")
        if dollars > MOST_DOLLARS:
            raise TooMany(f"more than {MOST_DOLLARS} characters $, each of which may begin a placeholder; use fewer")


def _nodes(value: Any) -> Iterator[Any]:
    """The value and everything in it."""
    yield value
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for each in within:
        yield from _nodes(each)


def references(value: Any) -> Iterator[Reference]:
    """Every placeholder anywhere in a value."""
    for text in texts(value):
        yield from (part for part in parse(text) if isinstance(part, Reference))


def texts(value: Any) -> Iterator[str]:
    """Every text anywhere in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from texts(value[key])
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each)


def placed_texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every text in a value, with its place."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from placed_texts(value[key], f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for number, element in enumerate(value):
            yield from placed_texts(element, f"{where}[{number}]")


def whole_resource(text: str) -> str:
    """The key in a text that is `${resources.key}` and nothing else; empty for any other."""
    match parse(text):
        case (Reference(("resources", key)),):
            return key
    return ""


def resources(value: Any) -> list[str]:
    """The resources that a value refers to, each once."""
    return list(
        dict.fromkeys(
            reference.path[1]
            for reference in references(value)
            if reference.path[0] == "resources" and reference.path[1:]
        )
    )
