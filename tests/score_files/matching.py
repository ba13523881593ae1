"""Whether what a runner has found is what a file expects. Pure: each function gives the differences as sentences.

What depends on more than one value (same_as, differs_from, unchanged) is looked up in `Known`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.score_files.forms import File, Match, Path, Refused, Request, Scalar, Text


@dataclass(frozen=True)
class Known:
    """What else a runner has found: variables by `workload/container/VARIABLE`, and what this value was before."""

    variables: Mapping[str, str] = field(default_factory=dict)
    before: str | None = None


@dataclass(frozen=True)
class Response:
    """What curl has received. Names of headers in small letters."""

    status: int
    headers: Mapping[str, str]
    body: str


NOTHING = Known()


def text_differs(expected: Text, found: str | None, known: Known = NOTHING) -> str | None:
    """None if `found` is as expected. None as `found` is a value that is not there."""
    if isinstance(expected, str):
        return None if found == expected else f"expected {expected!r}, found {found!r}"
    if expected.absent:
        return None if found is None else f"expected no value, found {found!r}"
    if found is None:
        return "expected a value, found none"
    return None if _matches(expected, found, known) else f"expected {described(expected)}, found {found!r}"


def _matches(expected: Match, found: str, known: Known) -> bool:
    return all(RULES[form](value, found, known) for form, value in chosen(expected).items())


def _whole(pattern: str, found: str, _known: Known) -> bool:
    return re.fullmatch(pattern, found, re.DOTALL) is not None


def _is_json(value: Any, found: str, _known: Known) -> bool:
    try:
        return bool(json.loads(found) == value)
    except ValueError:
        return False


RULES: dict[str, Callable[[Any, str, Known], bool]] = {
    "matches": _whole,
    "secret": _whole,
    "contains": lambda text, found, _known: text in found,
    "json": _is_json,
    "present": lambda _true, found, _known: found != "",
    "absent": lambda _true, _found, _known: False,
    "unchanged": lambda _true, found, known: found == known.before,
    "same_as": lambda name, found, known: found == known.variables.get(name),
    "differs_from": lambda name, found, known: name in known.variables and found != known.variables[name],
}


def described(expected: Match) -> str:
    """The one form that is set, as in the file."""
    return ", ".join(f"{name}: {value!r}" for name, value in chosen(expected).items())


def chosen(expected: Match) -> dict[str, Any]:
    """The fields of a Match that are set; in a well-formed file it is one."""
    fields = {name: getattr(expected, name) for name in Match.__struct_fields__}
    unset = {name: msgspec.UNSET if name == "json" else None for name in fields}
    return {name: value for name, value in fields.items() if value is not unset[name]}


def file_differs(expected: File, content: bytes | None, mode: int | None) -> Iterator[str]:
    if content is None:
        yield "expected a file, found none"
        return
    if expected.content is not None and (problem := text_differs(expected.content, content.decode(errors="replace"))):
        yield problem
    if expected.base64 is not None and content != base64.b64decode(expected.base64):
        yield f"expected {expected.base64}, found {base64.b64encode(content).decode()}"
    if expected.mode is not None and mode != int(expected.mode, 8):
        yield f"expected mode {expected.mode}, found {'none' if mode is None else f'{mode:04o}'}"


def response_differs(expected: Request, found: Response) -> Iterator[str]:
    if found.status != expected.status:
        yield f"expected status {expected.status}, found {found.status}"
    for name, text in expected.headers.items():
        if problem := text_differs(text, found.headers.get(name.lower())):
            yield f"header {name}: {problem}"
    if expected.body is not None and (problem := text_differs(expected.body, found.body)):
        yield f"body: {problem}"
    if expected.json:
        yield from _json_differs(expected.json, found.body)


def _json_differs(expected: Mapping[str, Scalar | Match], body: str) -> Iterator[str]:
    try:
        document = json.loads(body)
    except ValueError:
        yield f"body: expected JSON, found {body[:200]!r}"
        return
    for path, value in expected.items():
        found = at(document, path)
        if isinstance(value, Match):
            problem = text_differs(value, None if found is None else str(found))
        else:
            problem = None if found == value else f"expected {value!r}, found {found!r}"
        if problem:
            yield f"body: {path}: {problem}"


def at(document: Any, path: str) -> Any:
    """The value at a dotted path, None if it is not there; `\\.` is a dot in a key, a number an element of a list."""
    for step in path.replace("\\.", "\0").split("."):
        key = step.replace("\0", ".")
        if isinstance(document, dict):
            document = document.get(key)
        elif isinstance(document, list) and key.isdigit() and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    return document


# ---- refusals


def refusal_differs(expected: Refused, message: str) -> Iterator[str]:
    """What a message does not name."""
    if expected.paths and not any(is_named(path, message) for path in expected.paths):
        yield "expected the path " + " or ".join(notations(path)[0] for path in expected.paths)
    for mention in expected.mentions:
        if mention.lower() not in message.lower():
            yield f"expected a mention of {mention}"


def is_named(path: Path, message: str) -> bool:
    """Whether one of the notations is in the message, and not only as a part of a longer word."""
    return any(re.search(rf"(?<![\w.]){re.escape(text)}(?![\w-])", message) for text in notations(path))


def notations(path: Path) -> tuple[str, ...]:
    """A path as programs write it: with dots, with brackets, as a JSON pointer."""
    steps = [str(step) for step in path]
    return (
        ".".join(steps),
        ".".join(step.replace(".", "\\.") for step in steps),
        _bracketed(path, ""),
        _bracketed(path, '"'),
        _bracketed(path, "'"),
        "/" + "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps),
        "/" + "/".join(steps),
    )


def _bracketed(path: Path, quote: str) -> str:
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif any(sign in step for sign in "./ "):
            text += f"[{quote}{step}{quote}]"
        else:
            text += f".{step}" if text else step
    return text
