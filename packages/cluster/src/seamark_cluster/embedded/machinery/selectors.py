"""Label and field selectors: parsed once, then a predicate over objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seamark_cluster.embedded.machinery.errors import Json, bad_request

Predicate = Callable[[Json], bool]

_TOKEN = re.compile(r"\s*(==|!=|=|!|\(|\)|,|<|>|[^\s=!(),<>]+)")


class _Tokens:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        found = self.take()
        if found != token:
            raise SelectorError(f"found '{found}', expected: '{token}'")


class SelectorError(ValueError):
    """The text is not a selector."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One clause of a label selector."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: dict[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                return _compared(value, self.operator, self.values[0])


def _compared(value: str | None, operator: str, bound: str) -> bool:
    try:
        number, limit = int(value or ""), int(bound)
    except ValueError:
        return False
    return number > limit if operator == ">" else number < limit


def parse_labels(text: str) -> list[Requirement]:
    tokens = _Tokens(text)
    found: list[Requirement] = []
    while tokens.peek():
        found.append(_requirement(tokens))
        if tokens.peek():
            tokens.expect(",")
            if not tokens.peek():
                raise SelectorError("found '', expected: identifier after ','")
    return found


def _requirement(tokens: _Tokens) -> Requirement:
    if tokens.peek() == "!":
        tokens.take()
        return Requirement(_label_key(tokens.take()), "DoesNotExist")
    key = _label_key(tokens.take())
    operator = tokens.peek()
    if operator in ("", ","):
        return Requirement(key, "Exists")
    tokens.take()
    if operator in ("=", "==", "!="):
        value = tokens.take() if tokens.peek() not in ("", ",") else ""
        return Requirement(key, "NotIn" if operator == "!=" else "In", (value,))
    if operator in ("in", "notin"):
        return Requirement(key, "In" if operator == "in" else "NotIn", _values(tokens))
    if operator in ("<", ">"):
        return Requirement(key, operator, (tokens.take(),))
    raise SelectorError(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")


_LABEL_KEY = re.compile(r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")


def _label_key(token: str) -> str:
    if not _LABEL_KEY.match(token):
        raise SelectorError(f"found '{token}', expected: !, identifier, or 'end of string'")
    return token


def _values(tokens: _Tokens) -> tuple[str, ...]:
    tokens.expect("(")
    values = []
    while tokens.peek() not in (")", ""):
        found = tokens.take()
        if found != ",":
            values.append(found)
    tokens.expect(")")
    return tuple(values)


def from_selector(selector: Json | None) -> list[Requirement]:
    """A LabelSelector object (matchLabels, matchExpressions) as requirements."""
    selector = selector or {}
    found = [Requirement(key, "In", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        values = tuple(expression.get("values") or ())
        found.append(Requirement(expression["key"], expression["operator"], values))
    return found


def matches(requirements: list[Requirement], labels: dict[str, str] | None) -> bool:
    return all(requirement.holds(labels or {}) for requirement in requirements)


def label_predicate(text: str) -> Predicate | None:
    try:
        requirements = parse_labels(text)
    except SelectorError as error:
        raise bad_request(f"unable to parse requirement: {error}") from None
    if not requirements:
        return None
    return lambda obj: matches(requirements, obj["metadata"].get("labels"))


def parse_fields(text: str) -> list[tuple[str, str, str]]:
    found = []
    for clause in re.split(r"(?<!\\),", text):
        if not clause:
            continue
        for operator in ("!=", "==", "="):
            if operator in clause:
                field, _, value = clause.partition(operator)
                found.append((field, "!=" if operator == "!=" else "=", re.sub(r"\\([,=\\])", r"\1", value)))
                break
        else:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{clause}'")
    return found


def lookup(obj: Json, path: str) -> str:
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def field_predicate(
    text: str, allowed: Callable[[str], str | None], error_for: Callable[[str], str]
) -> Predicate | None:
    """`allowed` maps a field's label to the path it reads, or to None where the kind does not support it."""
    clauses = []
    for label, operator, value in parse_fields(text):
        path = allowed(label)
        if path is None:
            raise bad_request(error_for(label))
        clauses.append((path, operator == "=", value))
    if not clauses:
        return None
    return lambda obj: all((lookup(obj, path) == value) is wanted for path, wanted, value in clauses)


def both(left: Predicate | None, right: Predicate | None) -> Predicate | None:
    if left is None or right is None:
        return left or right
    return lambda obj: left(obj) and right(obj)
