"""Ids that sort by the time they were made, and secrets that can't be guessed."""

from __future__ import annotations

import hashlib
import secrets
import time

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_last = 0


def new_id(prefix: str) -> str:
    """`prefix_` and 27 letters: microseconds first, so that a later id is a greater string, then chance."""
    global _last  # noqa: PLW0603  # two ids of one microsecond would not sort
    _last = max(_last + 1, time.time_ns() // 1000)
    return f"{prefix}_{_base62(_last, 9)}{_base62(secrets.randbelow(62**18), 18)}"


def is_id(text: str) -> bool:
    """Whether it has the form of an id. That of which object is not asked: it may be gone."""
    prefix, _, rest = text.partition("_")
    return prefix.isascii() and prefix.isalnum() and len(rest) == 27 and all(letter in _ALPHABET for letter in rest)


def new_secret(prefix: str) -> str:
    return f"{prefix}_{_base62(secrets.randbelow(62**43), 43)}"


def _base62(number: int, digits: int) -> str:
    """One question to the system for all digits: a character at a time, an id takes a tenth of a request."""
    text = ""
    while number:
        number, digit = divmod(number, 62)
        text = _ALPHABET[digit] + text
    return text.rjust(digits, "0")


def digest(secret: str) -> str:
    """Secrets are kept as this. They are long and random, so a fast hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
