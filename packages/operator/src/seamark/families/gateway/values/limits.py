"""What a value of a route or policy must be before it is sent to the data plane.

- Every check takes the field's name first, and raises `Unsupported`, which names the field and the limit. So a rule or
  a policy is refused on its own object, and what the data plane gets is what it can take.
- A value that the data plane would parse again (a list in one text, a line of a header) is checked to be one element.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sized
from itertools import chain

from seamark.families.gateway.values.durations import LONGEST, seconds
from seamark_runtime.untrusted.names import NameRule, is_name
from seamark_runtime.untrusted.patterncost import cost
from seamark_runtime.untrusted.patterns import Budget, InvalidPattern, Pattern, Program, program, too_costly

MOST_WEIGHT = 1_000_000
MOST_COUNT = 2**32 - 1
MOST_AGE = 2**31 - 1
MOST_PATTERN = 4096  # cost of a regular expression, in instructions: less than the data plane takes
MOST_VALUE = 16_384  # bytes of a header's value
SHOWN = 60  # characters of a value that a message shows

_TOKEN = Pattern(r"[-!#$%&'*+.^_`|~0-9A-Za-z]{1,256}")
_CONTROL = frozenset(map(chr, chain(range(9), range(10, 32), (127,))))  # all but the tab
_FORBIDDEN_IN_PATH = frozenset("?#")


class Unsupported(Exception):
    """Something that can't be served; the message is for its user."""


def shown(value: str) -> str:
    """A value as a message shows it: short, and without control characters."""
    return repr(value if len(value) <= SHOWN else value[:SHOWN] + "...")


def at_most(field: str, values: Sized | None, most: int) -> None:
    if values is not None and len(values) > most:
        raise Unsupported(f"{field}: {len(values)} entries, at most {most} are served")


def one_of(field: str, value: str, known: Collection[str]) -> str:
    if value not in known:
        raise Unsupported(f"{field}: {shown(value)} is not supported; use one of {', '.join(sorted(known))}")
    return value


def integer(field: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise Unsupported(f"{field}: must be from {least} to {most}")
    return value


def duration(field: str, text: str | None, *, least: float = 0.0) -> float | None:
    """The seconds of a duration; None where none is given."""
    if text is None:
        return None
    found = seconds(text)
    if found is None:
        raise Unsupported(f"{field}: {shown(text)} is no duration; write it as in 10s or 500ms, {LONGEST} at most")
    if found < least:
        raise Unsupported(f"{field} must be {least * 1000:g}ms or more")
    return found


def pattern(field: str, text: str, budget: Budget) -> Program:
    """A regular expression as the data plane reads it: RE2, on bytes. `budget` is that of the object that it is of."""
    what = f"{field}: the regular expression {shown(text)}"
    if not budget.admits(text):
        together = f"those of one object may take {budget.most} instructions to compile together"
        raise Unsupported(f"{what} is one too many: {together}, with the ones before it")
    if (found := cost(text)) > MOST_PATTERN:
        raise Unsupported(f"{what} is too large: {too_costly(found, MOST_PATTERN)}")
    try:
        return program(text)
    except InvalidPattern as error:
        raise Unsupported(f"{what} is not valid: {error}") from None


def header_name(field: str, name: str) -> str:
    if _TOKEN.fullmatch(name) is None:
        raise Unsupported(f"{field}: {shown(name)} is not a valid name of a header")
    return name


def changed_header(field: str, name: str) -> str:
    """The name of a header that may be set, added or removed."""
    if name.lower() == "host":
        raise Unsupported(f"{field}: the header host can't be changed so; use the filter URLRewrite with a hostname")
    return header_name(field, name)


def header_value(field: str, value: str) -> str:
    sent = len(value.encode(errors="replace")) + value.count("%")  # the data plane gets every % twice
    if sent > MOST_VALUE or not _CONTROL.isdisjoint(value):
        rule = f"must have at most {MOST_VALUE} bytes, % counted twice, and no control characters"
        raise Unsupported(f"{field}: {shown(value)} is not a valid value of a header: it {rule}")
    return value


def hostname(field: str, name: str, *, wildcard: bool = False) -> str:
    base = name.removeprefix("*.") if wildcard else name
    if not is_name(base, NameRule.SUBDOMAIN):
        rule = "lower case letters, digits, '-' and '.', at most 253 characters; other scripts in their xn-- form"
        raise Unsupported(f"{field}: {shown(name)} is not a valid hostname: {rule}")
    return name


def invalid_hostname(names: Iterable[str]) -> str:
    """What is wrong with the first of these hostnames that can't be served; empty when all can."""
    try:
        for name in names:
            hostname("hostname", name, wildcard=True)
    except Unsupported as error:
        return str(error)
    return ""


def path(field: str, text: str) -> str:
    """A path that goes into a request or a redirect: nothing in it may end the line or the path."""
    if len(text) > 4096 or not (text.isascii() and text.isprintable()) or " " in text:
        rule = "must be printable ASCII without spaces, at most 4096 characters; encode others with %"
        raise Unsupported(f"{field}: {shown(text)} is not a valid path: it {rule}")
    return text


def matched_path(field: str, text: str) -> str:
    if not text.startswith("/") or not _FORBIDDEN_IN_PATH.isdisjoint(text):
        raise Unsupported(f"{field}: {shown(text)} is not a valid path: it must begin with / and have no ? or #")
    return path(field, text)
