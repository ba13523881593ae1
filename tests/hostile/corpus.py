"""What is written into a field, by class. Pure: the same seed chooses the same values for a field.

- A value that JSON libraries can't hold (1,200 levels, 400 digits) is `Raw`: text that goes into the request as it is.
- `shaped` puts a text into the form that the field has in its base manifest (a URL's host, a name in a zone, a path),
  so that it gets past the schema's pattern where that is possible at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.hostile.documents import Raw, bomb, nested
from tests.hostile.known_names import ZONE
from tests.hostile.schema import Field
from tests.hostile.texts import DIGITS, FORMED, MANY, TEXTS


@dataclass(frozen=True)
class Entry:
    """One value of the corpus. `value` may be a function of what the base manifest has there."""

    group: str
    name: str
    value: Any

    def of(self, current: Any) -> Any:
        return self.value(current) if callable(self.value) else self.value

    def __str__(self) -> str:
        return f"{self.group}/{self.name}"


def shaped(current: Any, text: str) -> str:
    """The text in the form of what is there; unchanged where that has no form."""
    if not isinstance(current, str):
        return text
    if found := re.fullmatch(r"([a-z0-9+]+://)([^:/]*)(.*)", current, re.DOTALL):
        return found[1] + text + found[3]
    if current.endswith(f".{ZONE}"):
        return f"{text}.{ZONE}"
    if current.endswith(".example.com"):
        return f"{text}.example.com"
    if "${" in current:
        return f"${{{text}}}"
    return f"/{text}" if current.startswith("/") else text


# ---- values of other types


WIDE = {f"k{number}": number for number in range(10_000)}
NUMBERS: dict[str, Any] = {
    "zero": 0,
    "minus-one": -1,
    "port": 65_536,
    "int32": 2**31 - 1,
    "beyond-int32": 2**31,
    "int64": 2**63 - 1,
    "beyond-int64": Raw(str(2**63)),
    "least-int64": -(2**63),
    "float": 1e308,
    "beyond-float": Raw("1e400"),
    "fraction": 0.5,
    "digits-400": Raw(DIGITS * 400),
    "digits-5000": Raw(DIGITS * 5000),
    "text": "9",
    "null": None,
}
OPEN: dict[str, Any] = {
    "deep-1200": nested(1_200),
    "deep-2000": nested(2_000),
    "deep-9000": nested(9_000),
    "deep-objects": nested(1_200, '{"a":', "}"),
    "deep-inside": nested(2_000, '{"on_tcp_connect":[', "]}"),
    "wide": WIDE,
    "digits-400": Raw(DIGITS * 400),
    "digits-5000": Raw(DIGITS * 5000),
    "float": Raw("1e400"),
    "number": 2**63 - 1,
    "text": "text",
    "null": None,
    "list": [],
    "map": {},
    "bomb": bomb(),
    "long": "x" * 1_000_000,
    "placeholders": {"a": "${" * MANY},
    "nul": {"a\x00": "b\x00"},
    "deep-value": {"a": nested(1_200)},
    "types": [None, True, 1.5, "a", [], {}],
}


def lists(current: Any) -> Iterator[tuple[str, Any]]:
    first = current[0] if isinstance(current, list) and current else "x"
    yield "empty", []
    yield "null", None
    yield "null-element", [None]
    yield "twice", [first, first]
    yield "16", [first] * 16
    yield "500", [first] * 500
    yield "2000", ["x"] * 2_000 if isinstance(first, str) else [first] * 2_000  # more, and the API server takes minutes
    yield "map", {"a": first}


def maps(current: Any) -> Iterator[tuple[str, Any]]:
    value = next(iter(current.values()), "x") if isinstance(current, dict) else "x"
    yield "empty", {}
    yield "null", None
    yield "null-value", {"a": None}
    yield "empty-key", {"": value}
    yield "1000", {f"k{number}": value for number in range(1_000)}
    for group in ("traversal", "control", "injection", "name", "template", "quadratic", "numeral"):
        for name, text in TEXTS[group].items():
            yield f"key-{group}-{name}", {text: value}


def entries(field: Field, current: Any) -> list[Entry]:
    """Every value for a field, in a fixed order; `current` is what its base manifest has there."""
    match field.type:
        case "number":
            return [Entry("number", name, value) for name, value in NUMBERS.items()]
        case "boolean":
            other = [("other", not current), ("text", "true"), ("number", 1), ("null", None)]
            return [Entry("boolean", name, value) for name, value in other]
        case "list":
            return [Entry("list", name, value) for name, value in lists(current)]
        case "map":
            return [Entry("map", name, value) for name, value in maps(current)]
        case "any":
            found = [Entry("open", name, value) for name, value in OPEN.items()]
            return [*found, *_replaced(current)]
    return list(_texts(current))


def _texts(current: Any) -> Iterator[Entry]:
    for group, texts in TEXTS.items():
        for name, text in texts.items():
            formed = shaped(current, text) if group in FORMED else text
            if formed != text:
                yield Entry(group, f"{name}-formed", formed)
            yield Entry(group, name, text)


def _replaced(current: Any) -> Iterator[Entry]:
    """An open field that is a map in its base: each of its keys gets a deep value and a quadratic text."""
    for key in current if isinstance(current, dict) else ():
        yield Entry("open", f"deep-in-{key}", {**current, key: nested(1_200)})
        yield Entry("open", f"text-in-{key}", {**current, key: "${" * MANY})


def _whole(several: list[Entry]) -> list[Entry]:
    """The value that has all slow texts in it, in the form of the field if it has one: every field gets it."""
    return [entry for entry in several if (entry.group, entry.name.removesuffix("-formed")) == ("quadratic", "all")][:1]


def chosen(field: Field, current: Any, per_group: int, seed: int) -> list[Entry]:
    """So many entries of each class, by chance that depends on field and seed alone; and the text of all slow ones."""
    by_group: dict[str, list[Entry]] = {}
    for entry in entries(field, current):
        by_group.setdefault(entry.group, []).append(entry)
    random = Random(f"{seed} {field}")
    wide = {"number": 3, "list": 3, "map": 4, "open": 6}  # classes of which a field has only the one
    found = []
    for group, several in by_group.items():
        number = min(len(several), per_group * wide.get(group, 1))
        sampled = random.sample(several, number)
        found += [*sampled, *(entry for entry in _whole(several) if entry not in sampled)]
    random.shuffle(found)  # so that a run that ends early has tried all classes
    return found
