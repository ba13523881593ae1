"""Functions over texts. The length of what they make is checked before it is made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from seamark_runtime.cel.conversions import to_string
from seamark_runtime.cel.functions import Cost, Function, Result
from seamark_runtime.cel.limits import DYNAMIC_PATTERN, INVALID_PATTERN, PATTERN_WORK_PER_STEP, Meter
from seamark_runtime.cel.values import CelError, no_overload
from seamark_runtime.untrusted.patterns import MOST_COST, InvalidPattern, Pattern

_MOST_DIGITS = 60  # behind the point, in format
_UPPER = {ord(char): char.upper() for char in "abcdefghijklmnopqrstuvwxyz"}
_LOWER = {ord(char): char.lower() for char in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


@lru_cache(maxsize=1024)
def pattern_of(expression: str, memory: int) -> Pattern:
    """The compiled pattern; CelError if it is none, or takes more memory than this."""
    try:
        return Pattern(expression, memory=memory, most=MOST_COST)
    except InvalidPattern as error:
        raise CelError(f"invalid regular expression: {error}") from None


def _search(meter: Meter, text: Any, expression: Any) -> Pattern:
    """The pattern, after the search has been charged. One of the source comes compiled."""
    if not isinstance(text, str) or not isinstance(expression, str | Pattern):
        raise no_overload("string function")
    pattern = _compiled(meter, expression) if isinstance(expression, str) else expression
    meter.charge(len(text) * pattern.states // PATTERN_WORK_PER_STEP)
    return pattern


def _compiled(meter: Meter, expression: str) -> Pattern:
    meter.charge(DYNAMIC_PATTERN)
    try:
        pattern = pattern_of(expression, meter.limits.pattern_memory)
    except CelError:
        meter.charge(INVALID_PATTERN)
        raise
    meter.charge(pattern.states)
    return pattern


def matches(meter: Meter, text: Any, expression: Any) -> bool:
    return _search(meter, text, expression).search(text) is not None


def find(meter: Meter, text: Any, expression: Any) -> str:
    match = _search(meter, text, expression).search(text)
    return match.group() if match else ""


def find_all(meter: Meter, text: Any, expression: Any, limit: int = -1) -> list[str]:
    pattern = _search(meter, text, expression)
    found: list[str] = []
    for match in pattern.finditer(text):
        if len(found) == limit:
            break
        found.append(match.group())
        # The next search starts here and reads, at worst, up to the end.
        meter.charge(1 + (len(text) - match.end()) * pattern.states // PATTERN_WORK_PER_STEP)
    return found


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


def replace(meter: Meter, text: str, old: str, new: str, limit: int = -1) -> str:
    _only_strings(text, old, new)
    count = text.count(old)
    meter.make_text(len(text) + (count if limit < 0 else min(count, limit)) * max(0, len(new) - len(old)))
    return text.replace(old, new, limit)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    _only_strings(text, separator)
    if limit == 0:
        return []
    if not separator:
        return list(text) if limit < 0 else [*text[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def join(meter: Meter, items: list[Any], separator: str = "") -> str:
    if not isinstance(items, list):
        raise no_overload("join")
    _only_strings(*items, separator)
    meter.make_text(sum(map(len, items)) + len(separator) * len(items))
    return separator.join(items)


def quote(meter: Meter, text: str) -> str:
    _only_strings(text)
    quoted = json.dumps(text, ensure_ascii=False)
    meter.make_text(len(quoted))
    return quoted


def formatted(meter: Meter, template: str, values: list[Any]) -> str:
    """`'%s has %d'.format([…])`."""
    _only_strings(template)
    rest = iter(values)
    pieces: list[str] = []
    length = 0
    for text, verb, digits in _directives(template):
        piece = _shown(verb, digits, rest) if verb else ""
        length += len(text) + len(piece)
        meter.make_text(length)
        pieces += (text, piece)
    return "".join(pieces)


def _directives(template: str) -> Iterator[tuple[str, str, int]]:
    """The text before each verb, the verb, and the digits that it asks for behind the point (-1: none given)."""
    at = 0
    while (percent := template.find("%", at)) >= 0:
        before, at = template[at:percent], percent + 1
        digits = -1
        if template[at : at + 1] == ".":
            start = at = at + 1
            while template[at : at + 1].isdigit():
                at += 1
            digits = int(template[start:at] or 0) if at - start < 4 else _MOST_DIGITS + 1
            if digits > _MOST_DIGITS:
                raise CelError(f"format: at most {_MOST_DIGITS} digits are shown behind the point")
        verb, at = template[at : at + 1], at + 1
        yield (before + "%", "", -1) if verb == "%" else (before, verb, digits)
    yield template[at:], "", -1


def _shown(verb: str, digits: int, rest: Iterator[Any]) -> str:
    try:
        value = next(rest)
    except StopIteration:
        raise CelError("index out of range in string.format") from None
    if verb in ("s", "d") and digits < 0:
        return to_string(value)
    if verb in ("f", "e") and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{float(value):.{6 if digits < 0 else digits}{verb}}"
    if verb in ("b", "o", "x", "X") and isinstance(value, int):
        return f"{value:{verb}}"
    if verb in ("x", "X") and isinstance(value, str | bytes):
        shown = (value.encode() if isinstance(value, str) else value).hex()
        return shown.upper() if verb == "X" else shown
    raise CelError(f"unrecognized formatting clause {verb!r} for this value")


def _text(run: Callable[..., Any], cost: Cost = Cost.LINEAR) -> Function:
    def call(text: Any, *rest: Any) -> Any:
        if not isinstance(text, str):
            raise no_overload("string function")
        return run(text, *rest)

    return Function(call, cost)


MATCHES = Function(matches, Cost.PATTERN, metered=True)
QUOTE = Function(quote, metered=True)
MEMBERS: dict[str, Function] = {
    "startsWith": _text(lambda text, part: text.startswith(part)),
    "endsWith": _text(lambda text, part: text.endswith(part)),
    "matches": MATCHES,
    "charAt": _text(char_at),
    "lowerAscii": _text(lambda text: text.translate(_LOWER)),
    "upperAscii": _text(lambda text: text.translate(_UPPER)),
    "trim": _text(str.strip),
    "substring": _text(substring),
    "replace": Function(replace, Cost.PRODUCT, Result.REPLACED, metered=True),
    "split": Function(split, Cost.PRODUCT, Result.PIECES),
    "find": Function(find, Cost.PATTERN, metered=True),
    "findAll": Function(find_all, Cost.PATTERN, Result.PIECES, metered=True),
    "format": Function(formatted, Cost.LINEAR, Result.FORMATTED, metered=True),
    "join": Function(join, Cost.LINEAR, Result.JOINED, metered=True),
}
