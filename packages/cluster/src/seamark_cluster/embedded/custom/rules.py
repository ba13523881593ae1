"""x-kubernetes-validations: the CEL rules of a schema, compiled once, at their places in it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

from seamark_cluster.embedded.cel import CelError, Optional, Program, compile_expression
from seamark_cluster.embedded.custom.structural import Structural
from seamark_cluster.embedded.machinery.errors import FieldError, Json, duplicate, field_forbidden, invalid, required
from seamark_cluster.embedded.machinery.merging import MISSING
from seamark_runtime.cel.values import parse_duration, parse_timestamp

_TYPED: dict[str, Callable[[str], Any]] = {
    "date-time": parse_timestamp,
    "date": parse_timestamp,
    "duration": parse_duration,
    "byte": base64.b64decode,
}


class Rule:
    """One rule.

    - A rule that uses oldSelf is a transition rule: it is checked only if there is an old value.
    - Its message is that of its message expression, else its own, else the rule itself.
    """

    __slots__ = ("_document", "_message", "_optional", "_program", "_transition")

    def __init__(self, document: Json) -> None:
        self._document = document
        self._program: Program = compile_expression(document["rule"])
        self._optional: bool = document.get("optionalOldSelf", False)
        self._transition = "oldSelf" in self._program.names
        expression = document.get("messageExpression")
        self._message = compile_expression(expression) if expression else None

    def check(self, env: Json, old: Any, where: tuple[str, Any, str], *, unchanged: bool) -> FieldError | None:
        path, value, kind = where
        if self._transition and old is MISSING and not self._optional:
            return None
        if self._optional:
            env = {**env, "oldSelf": Optional(old is not MISSING, None if old is MISSING else old)}
        try:
            if self._program(env) is True:
                return None
        except CelError as error:
            return invalid(path, kind, self._evaluation_error(str(error)))
        if unchanged and not self._transition:
            return None
        return self._failure(path, value, kind, self._detail(env))

    def _evaluation_error(self, error: str) -> str:
        if error.startswith("no such overload"):
            why = "call arguments did not match a supported operator, function or macro signature for rule"
            return f"'{error}': {why}: {self._text()}"
        return f"{error} evaluating rule: {self._text()}"

    def _text(self) -> str:
        text: str = self._document.get("message") or self._document["rule"]
        return text.strip()

    def _detail(self, env: Json) -> str:
        if self._message is not None:
            try:
                text = self._message(env)
            except CelError:
                text = ""
            if isinstance(text, str) and text.strip() and "\n" not in text.strip():
                return text.strip()
        message: str = self._document.get("message") or ""
        return message.strip() or f"failed rule: {self._text()}"

    def _failure(self, path: str, value: Any, kind: str, detail: str) -> FieldError:
        path += self._document.get("fieldPath", "")
        match self._document.get("reason"):
            case "FieldValueForbidden":
                return field_forbidden(path, detail)
            case "FieldValueRequired":
                return required(path, detail)
            case "FieldValueDuplicate":
                return duplicate(path, value)
        if kind in ("object", "array"):
            return FieldError("FieldValueInvalid", path, f"Invalid value: {detail}")
        return invalid(path, value, detail)


class Rules:
    """Every rule of a schema."""

    def __init__(self, schema: Structural) -> None:
        self._schema = schema
        self._rules: dict[int, list[Rule]] = {}
        self._nodes: list[Structural] = []
        self._collect(schema)
        self._converts = {id(node): _has_typed(node.schema) for node in self._nodes}

    def _collect(self, node: Structural) -> None:
        rules = node.schema.get("x-kubernetes-validations")
        if rules:
            self._rules[id(node)] = [Rule(rule) for rule in rules]
            self._nodes.append(node)
        for child in [*node.properties.values(), node.additional, node.items]:
            if child is not None and child.has_rules:
                self._collect(child)

    def check(self, new: Json, old: Json | None) -> list[FieldError]:
        return list(self._check(self._schema, "", new, MISSING if old is None else old))

    def _check(self, node: Structural, path: str, value: Any, old: Any) -> Iterator[FieldError]:
        if value is None:
            return
        yield from self._at(node, path, value, MISSING if old is None else old)
        if isinstance(value, dict):
            yield from self._below(node, path, value, old if isinstance(old, dict) else {})
        elif isinstance(value, list) and node.items is not None and node.items.has_rules:
            olds = node.correlated(old)
            for index, item in enumerate(value):
                yield from self._check(node.items, f"{path}[{index}]", item, olds.get(node.key_of(item), MISSING))

    def _below(self, node: Structural, path: str, value: Json, olds: Json) -> Iterator[FieldError]:
        if node.schema.get("x-kubernetes-map-type") == "atomic":
            olds = {}
        for key, item in value.items():
            child = node.properties.get(key)
            if child is not None and child.has_rules:
                yield from self._check(child, f"{path}.{key}" if path else key, item, olds.get(key, MISSING))
            elif child is None and node.additional is not None and node.additional.has_rules:
                yield from self._check(node.additional, f"{path}[{key}]", item, olds.get(key, MISSING))

    def _at(self, node: Structural, path: str, value: Any, old: Any) -> Iterator[FieldError]:
        rules = self._rules.get(id(node))
        if not rules:
            return
        unchanged = old is not MISSING and old == value
        seen, before = value, old
        if self._converts[id(node)]:
            seen = _typed(node, value)
            before = _typed(node, old) if old is not MISSING else old
        env = {"self": seen} if before is MISSING else {"self": seen, "oldSelf": before}
        where = (path or "<nil>", value, node.schema.get("type", ""))
        for rule in rules:
            error = rule.check(env, before, where, unchanged=unchanged)
            if error is not None:
                yield error


def _has_typed(schema: Any) -> bool:
    if isinstance(schema, dict):
        return schema.get("format") in _TYPED or any(_has_typed(item) for item in schema.values())
    return isinstance(schema, list) and any(_has_typed(child) for child in schema)


def _typed(node: Structural | None, value: Any) -> Any:
    """The value as CEL gets it: strings of some formats become timestamps, durations or bytes."""
    if node is None:
        return value
    if isinstance(value, dict):
        return {key: _typed(node.child(key), entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_typed(node.items, item) for item in value]
    convert = _TYPED.get(node.schema.get("format", ""))
    return convert(value) if convert is not None and isinstance(value, str) else value
