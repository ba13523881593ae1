"""Label selectors as Kubernetes writes them: `a=b`, `c!=d`, `e in (x,y)`, `f notin (z)`, `g`, `!h`; all must hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from seamark_runtime.untrusted.patterns import Pattern

LONGEST = 64 * 1024  # characters
KEY = r"([A-Za-z0-9][A-Za-z0-9._/-]*)"
SET = Pattern(rf"{KEY}\s+(in|notin)\s*\(([^()]*)\)")
EQUALITY = Pattern(rf"{KEY}\s*(==|=|!=)\s*([^\s()=!<>]*)")
EXISTENCE = Pattern(rf"(!?)\s*{KEY}")


class InvalidSelector(ValueError):
    """A selector that can't be read: which part of it."""


@dataclass(frozen=True)
class Requirement:
    """One part of a selector. Without `values` it is about the key alone. `negated`: it must not hold."""

    key: str
    values: frozenset[str] | None = None
    negated: bool = False

    def match(self, values: Mapping[str, str]) -> bool:
        holds = self.key in values if self.values is None else values.get(self.key) in self.values
        return holds is not self.negated


@dataclass(frozen=True)
class Selector:
    """Of an object without a key, `!=` and `notin` hold."""

    requirements: tuple[Requirement, ...] = ()

    @staticmethod
    def parse(text: str) -> Selector:
        if len(text) > LONGEST:
            raise InvalidSelector(f"a selector has {len(text)} characters: at most {LONGEST} are allowed")
        return Selector(tuple(_requirement(part) for part in _parts(text)))

    def match(self, values: Mapping[str, str] | None) -> bool:
        return all(requirement.match(values or {}) for requirement in self.requirements)


def _requirement(text: str) -> Requirement:
    """Only a set has parentheses, and only an equality '=': one pattern is tried."""
    if "(" in text:
        if found := SET.fullmatch(text):
            listed = frozenset(value.strip() for value in (found[3] or "").split(","))
            return Requirement(found[1] or "", listed, negated=found[2] == "notin")
    elif "=" in text:
        if found := EQUALITY.fullmatch(text):
            return Requirement(found[1] or "", frozenset((found[3] or "",)), negated=found[2] == "!=")
    elif found := EXISTENCE.fullmatch(text):
        return Requirement(found[2] or "", negated=bool(found[1]))
    raise InvalidSelector(f"{text[:80]!r} is not a requirement such as a=b, a!=b, a in (b,c), a notin (b), a or !a")


def _parts(text: str) -> Iterator[str]:
    """Between commas that are not inside of parentheses."""
    depth = start = 0
    for position, letter in enumerate(f"{text},"):
        if letter == "," and depth == 0:
            if part := text[start:position].strip():
                yield part
            start = position + 1
        depth += (letter == "(") - (letter == ")")
    if depth:
        raise InvalidSelector(f"{text[:80]!r} has a parenthesis that is not closed, or not opened")
