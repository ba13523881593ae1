"""Secrets never leave: not in a status, an event, a log line or a metric."""

from __future__ import annotations

import re

HIDDEN = "[redacted]"
SECRET_TEXT = re.compile(
    r"(?i:bearer)\s+[\w.~+/=-]{8,}"  # an authorization header
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # a JSON web token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",  # credentials in a URL
    re.DOTALL,
)
SECRET_ASSIGNED = re.compile(r"(?i:(token|password|passwd|secret|api[_-]?key)=)[^\s&,;'\"]+")


def redact(text: str) -> str:
    """The text without anything that looks like a secret."""
    return SECRET_ASSIGNED.sub(rf"\1={HIDDEN}", SECRET_TEXT.sub(HIDDEN, text))
