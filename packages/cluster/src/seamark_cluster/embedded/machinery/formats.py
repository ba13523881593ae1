"""The string formats of schemas."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from functools import lru_cache
from urllib.parse import urlsplit


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.match(text) is not None


_DATE_TIME = re.compile(r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)\Z")


def _date_time(text: str) -> bool:
    if not _DATE_TIME.match(text):
        return False
    whole = re.sub(r"\.\d+", "", text.upper()).replace("Z", "+00:00")
    return _parses(datetime.fromisoformat)(whole)


def _uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return text.startswith("/") or bool(parts.scheme)


_UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\Z"
_DURATION = r"^([+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+\Z|^0\Z|^\s*\d+\s*(ns|us|ms|s|m|h|d|w|[a-z]+)\s*\Z"

CHECKS: dict[str, Callable[[str], bool]] = {
    "datetime": _date_time,
    "date": lambda text: len(text) == 10 and _parses(date.fromisoformat)(text),
    "byte": _parses(lambda text: base64.b64decode(text, validate=True)),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": lambda text: "/" in text and _parses(lambda item: ipaddress.ip_network(item, strict=False))(text),
    "uri": _uri,
    "uuid": _matches(_UUID),
    "duration": _matches(_DURATION),
    "email": _matches(r"^[^@\s]+@[^@\s]+\Z"),
    "hostname": _matches(
        r"^[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*\Z"
    ),
    "mac": _matches(r"^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\Z"),
    "password": lambda text: True,
}


def check_for(name: str) -> Callable[[str], bool] | None:
    """The check of a format; None for a format that the API server ignores as well."""
    return CHECKS.get(name.replace("-", ""))


@lru_cache(maxsize=4096)
def regex(pattern: str) -> re.Pattern[str]:
    """A pattern of the API server in Python's syntax: `$` and `\\z` match only the end of the text."""
    return re.compile("".join(_translated(pattern)))


_PIECE = re.compile(r"\\.|\[:\^?[a-z]+:\]|.", re.DOTALL)
_POSIX = {
    "[:alnum:]": "0-9A-Za-z",
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:upper:]": "A-Z",
    "[:word:]": "0-9A-Za-z_",
    "[:xdigit:]": "0-9A-Fa-f",
}


def _translated(pattern: str) -> Iterator[str]:
    before = ""  # inside a character class, where `$` is literal: the previous piece
    for piece in _PIECE.findall(pattern):
        if not before:
            before = piece if piece == "[" else ""
            yield "\\Z" if piece in ("$", "\\z") else piece
        elif piece == "]" and before not in ("[", "[^"):  # as the first of a class it is literal
            before = ""
            yield piece
        else:
            before = "[^" if (before, piece) == ("[", "^") else "in"
            yield _POSIX.get(piece, "\\[" if piece == "[" else piece)
