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
    number, head = _last, ""
    while number:
        number, digit = divmod(number, 62)
        head = _ALPHABET[digit] + head
    return f"{prefix}_{head:0>9}{''.join(secrets.choice(_ALPHABET) for _ in range(18))}"


def new_secret(prefix: str) -> str:
    return f"{prefix}_{''.join(secrets.choice(_ALPHABET) for _ in range(43))}"


def digest(secret: str) -> str:
    """Secrets are kept as this. They are long and random, so a fast hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()
