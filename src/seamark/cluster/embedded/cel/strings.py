"""Functions over strings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from seamark.cluster.embedded.cel.values import CelError, no_overload
from seamark.cluster.embedded.custom.formats import regex


def matches(text: str, pattern: str) -> bool:
    _only_strings(text, pattern)
    return regex(pattern).search(text) is not None


def _only_strings(*values: Any) -> None:
    if not all(isinstance(value, str) for value in values):
        raise no_overload("string function")


def char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


def index_of(text: str, part: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    return text.find(part, start)


def last_index_of(text: str, part: str, end: int | None = None) -> int:
    return text.rfind(part) if end is None else text.rfind(part, 0, end + len(part))


def substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= len(text) or not 0 <= stop <= len(text):
        raise CelError(f"index out of range: {start if not 0 <= start <= len(text) else stop}")
    if start > stop:
        raise CelError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        return list(text)
    return text.split(separator, limit - 1 if limit > 0 else -1)


def join(items: list[Any], separator: str = "") -> str:
    _only_strings(*items)
    return separator.join(items)


def find(text: str, pattern: str) -> str:
    match = regex(pattern).search(text)
    return match.group() if match else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match.group() for match in regex(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]


def quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def formatted(template: str, values: list[Any]) -> str:
    """`'%s has %d'.format([…])`."""
    from seamark.cluster.embedded.cel.library import to_string  # noqa: PLC0415 - the two modules need each other

    rest = iter(values)
    out: list[str] = []
    at = 0
    while at < len(template):
        char = template[at]
        if char != "%":
            out.append(char)
            at += 1
            continue
        at += 1
        if template[at : at + 1] == "%":
            out.append("%")
            at += 1
            continue
        start = at
        while at < len(template) and template[at] in "0123456789.":
            at += 1
        verb, precision = template[at : at + 1], template[start:at]
        at += 1
        try:
            value = next(rest)
        except StopIteration:
            raise CelError("index out of range in string.format") from None
        out.append(to_string(value) if verb in ("s", "d") and not precision else f"%{precision}{verb}" % value)
    return "".join(out)


def _ascii(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(change(char) if char.isascii() else char for char in text)


def _string_only(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(text: Any, *rest: Any) -> Any:
        if not isinstance(text, str):
            raise no_overload("string function")
        return function(text, *rest)

    return call


MEMBER: dict[str, Callable[..., Any]] = {
    "startsWith": _string_only(lambda text, part: text.startswith(part)),
    "endsWith": _string_only(lambda text, part: text.endswith(part)),
    "matches": matches,
    "charAt": _string_only(char_at),
    "lowerAscii": _string_only(_ascii(str.lower)),
    "upperAscii": _string_only(_ascii(str.upper)),
    "trim": _string_only(str.strip),
    "substring": _string_only(substring),
    "replace": _string_only(replace),
    "split": _string_only(split),
    "find": _string_only(find),
    "findAll": _string_only(find_all),
    "format": _string_only(formatted),
    "join": join,
}
