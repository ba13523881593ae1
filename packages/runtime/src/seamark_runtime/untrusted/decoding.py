"""Decoding with limits: no document can exhaust memory, the stack or the event loop.

- A document is refused whole (`Malformed`) when it is larger, deeper or expands to more nodes than its limits allow.
- Depth is checked on the bytes, before anything recursive runs over the document.
- YAML aliases are counted by what they expand to; an alias inside its own anchor is refused.
- Nothing but `Malformed` is raised, whatever the input is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
import re2
import yaml

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """`size` in bytes, `depth` in levels of maps and lists, `nodes` in values after aliases are expanded."""

    size: int = 4 * 2**20  # the API server refuses objects above 3 MiB; etcd takes 1.5 MiB by default
    depth: int = 100
    nodes: int = 200_000
    core_schema: bool = False  # plain scalars as in YAML 1.2: `yes` and `12:30` are texts
    unique_keys: bool = False  # a key that is twice in one mapping is refused; otherwise the last one counts


DEFAULT = Limits()


class Malformed(ValueError):
    """A document that can't be decoded, or is beyond its limits. The message names the limit and the place."""


class InvalidSyntax(Malformed):
    """Not a document at all: cut off, or of another format."""


def decode_json(data: bytes | str, kind: type[T], limits: Limits = DEFAULT) -> T:
    """The document as a value of this type."""
    decoded: T = _decode_json(data, kind, limits)
    return decoded


def decode_plain_json(data: bytes | str, limits: Limits = DEFAULT) -> Any:
    """The document as plain values."""
    raw = _bytes(data)
    value = _decode_json(raw, Any, limits)
    if sum(raw.count(mark) for mark in (b",", b":", b"[", b"{")) >= limits.nodes and _count(value) > limits.nodes:
        raise Malformed(f"more than {limits.nodes} values")
    if limits.unique_keys:
        json.loads(raw, object_pairs_hook=_check_unique, parse_int=str, parse_float=str)  # valid JSON, not too deep
    return value


def _count(value: Any) -> int:
    """Keys and values of a document, counted as in YAML."""
    nodes, pending = 0, [value]
    while pending:
        nodes += 1
        match pending.pop():
            case dict() as entries:
                nodes += len(entries)
                pending.extend(entries.values())
            case list() as items:
                pending.extend(items)
    return nodes


def _check_unique(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise Malformed(f"the key {key[:50]!a} is there twice")
        seen.add(key)


def decode_envelope(raw: bytes | msgspec.Raw, kind: type[T]) -> T:
    """The fields that `kind` names; everything else is skipped, however deep it is nested.

    For documents whose content has no limits of its own yet: a list of objects, or the identity of an object that is
    refused. `kind` itself must not be recursive.
    """
    decode = _json_decoder(cast("Any", kind)).decode
    try:
        try:
            decoded: T = decode(raw)
        except RecursionError:
            with _recursion_allowance(DEEPEST_SKIPPED):
                decoded = decode(raw)
    except (ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise _malformed(error) from None
    return decoded


DEEPEST_SKIPPED = 10_500  # levels: a little more than the 10,000 that the API server's own decoder accepts


@contextmanager
def _recursion_allowance(levels: int) -> Iterator[None]:
    """For the decoder alone, which runs no Python code meanwhile and needs about 100 bytes of stack a level."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + levels)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _decode_json(data: bytes | str, kind: Any, limits: Limits) -> Any:
    raw = _bytes(data)
    check_json(raw, limits)
    try:
        return _json_decoder(kind).decode(raw)
    except (ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise _malformed(error) from None


def _bytes(data: bytes | str) -> bytes:
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data


def _malformed(error: Exception) -> Malformed:
    match error:
        case msgspec.ValidationError():
            return Malformed(str(error))
        case RecursionError():
            return Malformed("too many levels of nested maps and lists")
        case _:
            return InvalidSyntax(f"not valid JSON: {error}")


@cache
def _json_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def check_json(raw: bytes, limits: Limits = DEFAULT) -> None:
    """Raises Malformed if the document is too large or too deep. Linear: about two microseconds a kilobyte."""
    if len(raw) > limits.size:
        raise Malformed(f"{len(raw)} bytes, {limits.size} are allowed")
    if raw.count(b"{") + raw.count(b"[") <= limits.depth or _nested(limits.depth).fullmatch(raw) is not None:
        return
    try:
        msgspec.json.decode(raw, type=msgspec.Raw)
    except RecursionError:
        pass
    except ValueError as error:
        raise _malformed(error) from None
    raise Malformed(f"more than {limits.depth} levels of nested maps and lists")


@cache
def _nested(depth: int) -> Any:
    """An expression for balanced brackets outside of strings, up to this depth. RE2 makes it one small automaton."""
    plain = r'[^\[\]{}"]|"(?:[^"\\]|\\.)*"'
    expression = f"(?:{plain})*"
    for _ in range(depth):
        expression = f"(?:{plain}|[\\[{{]{expression}[\\]}}])*"
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes as they are
    options.dot_nl = True
    return re2.compile(expression.encode(), options)


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster where PyYAML was built with libyaml


class _UniqueKeys(_LOADER):  # type: ignore[misc]  # one of two classes
    """Refuses a mapping with one key twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    raise Malformed(f"the key {key.value[:50]!a} is there twice ({_where(key)})")
                seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


# Plain scalars of YAML 1.2 that are no texts, with their first characters; and times, which are texts in no version.
_CORE = {
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "null": (r"~|null|Null|NULL|", "~nN"),
    "int": (r"[-+]?(0o[0-7]+|0x[0-9a-fA-F]+|[0-9]+)", "-+0123456789"),
    "float": (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    "timestamp": (r"[0-9]{4}-[0-9][0-9]-[0-9][0-9]([Tt ][-+:.0-9TtZz ]*)?", "0123456789"),
    "merge": (r"<<", "<"),
}


def _core_resolvers() -> dict[str, list[tuple[str, Any]]]:
    found: dict[str, list[tuple[str, Any]]] = {"": [("tag:yaml.org,2002:null", re2.compile("^$"))]}
    for name, (expression, first) in _CORE.items():
        for character in first:
            found.setdefault(character, []).append((f"tag:yaml.org,2002:{name}", re2.compile(f"^(?:{expression})$")))
    return found


class _CoreSchema(_LOADER):  # type: ignore[misc]  # one of two classes
    """Reads plain scalars as YAML 1.2 does."""

    yaml_implicit_resolvers = _core_resolvers()


class _UniqueCoreSchema(_CoreSchema, _UniqueKeys):
    """Both."""


def _loader(limits: Limits) -> Any:
    if limits.core_schema:
        return _UniqueCoreSchema if limits.unique_keys else _CoreSchema
    return _UniqueKeys if limits.unique_keys else _LOADER


def decode_yaml(text: str | bytes, limits: Limits = DEFAULT) -> Any:
    """One YAML document as plain values; None for an empty one."""
    documents = decode_all_yaml(text, limits)
    if len(documents) > 1:
        raise Malformed(f"{len(documents)} documents, one is expected")
    return documents[0] if documents else None


def decode_all_yaml(text: str | bytes, limits: Limits = DEFAULT) -> list[Any]:
    size = len(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else len(text)
    if size > limits.size:
        raise Malformed(f"{size} bytes, {limits.size} are allowed")
    try:
        _check_events(yaml.parse(text, Loader=_LOADER), limits)
        return list(yaml.load_all(text, Loader=_loader(limits)))
    except Malformed:
        raise
    except yaml.YAMLError as error:
        raise InvalidSyntax(f"not valid YAML: {' '.join(str(error).split())}") from None
    except Exception as error:  # the library's constructors raise whatever a value makes them raise
        raise Malformed(f"not valid YAML: {error}") from None


def _check_events(events: Iterator[Any], limits: Limits) -> None:
    """Counts depth and expanded nodes on the parser's events, before any value is built."""
    expanded: dict[str, int] = {}  # anchor → nodes it stands for
    opened: list[tuple[str | None, int]] = []  # enclosing maps and lists: (anchor, nodes before it)
    nodes = 0
    for event in events:
        match event:
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                opened.append((event.anchor, nodes))
                nodes += 1
                if event.anchor:
                    expanded.pop(event.anchor, None)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                anchor, before = opened.pop()
                if anchor:
                    expanded[anchor] = nodes - before
            case yaml.AliasEvent():
                nodes += _expansion(event, expanded)
            case yaml.ScalarEvent():
                nodes += 1
                _check_number(event)
                if event.anchor:
                    expanded[event.anchor] = 1
            case yaml.DocumentStartEvent():
                expanded = {}
        if len(opened) > limits.depth:
            raise Malformed(f"more than {limits.depth} levels of nested maps and lists ({_where(event)})")
        if nodes > limits.nodes:
            raise Malformed(f"more than {limits.nodes} values, aliases expanded ({_where(event)})")


LONGEST_NUMBER = 1000  # characters
_NUMBER = frozenset("0123456789:_.+-")


def _check_number(event: yaml.ScalarEvent) -> None:
    """`1:1:1…` is a number to the base 60 in YAML, and the time to make it grows with the square of its length."""
    number = (event.implicit[0] or event.tag) and len(event.value) > LONGEST_NUMBER and set(event.value) <= _NUMBER
    if number:
        raise Malformed(f"a number of more than {LONGEST_NUMBER} characters ({_where(event)})")


def _expansion(event: yaml.AliasEvent, expanded: Mapping[str, int]) -> int:
    nodes = expanded.get(event.anchor or "")
    if nodes is None:
        raise Malformed(f"the alias *{event.anchor} is used inside its own anchor or without one ({_where(event)})")
    return nodes


def _where(event: Any) -> str:
    return f"line {event.start_mark.line + 1}"
