"""Names of the Kubernetes API, and the only place where they become a request path.

- A name is checked against the rule of its kind and quoted; what breaks the rule raises `InvalidName`, which names the
  rule. `../../other/secrets/x` is refused here and nowhere else.
- `ApiPath` is a type of its own: transports take nothing else, and only this module makes one. Code that puts names
  into paths uses `api_path`; its root is a literal, or comes from `api_root`.
"""

from __future__ import annotations

import enum
from functools import cache
from urllib.parse import quote

from seamark_runtime.untrusted.patterns import Pattern

LONGEST_NAME = 253
LONGEST_LABEL = 63

_ROOT = Pattern(r"(/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)+")


class InvalidName(ValueError):
    """A name that no object of this kind can have."""


class NameRule(enum.Enum):
    """What the API server accepts as the name of an object."""

    SUBDOMAIN = "a DNS subdomain: lower case letters, digits, '-' and '.', at most 253 characters"
    LABEL = "a DNS label: lower case letters, digits and '-', at most 63 characters"
    SEGMENT = "a path segment: not '.' or '..', without '/' and '%', at most 253 characters"


class ApiPath(str):
    """The path of a request: checked and quoted. It is sent as it is."""

    __slots__ = ()


def check_name(name: str, rule: NameRule = NameRule.SUBDOMAIN) -> str:
    """The name, if the rule allows it."""
    if not _allowed(name, rule):
        raise InvalidName(f"{_shown(name)} is not a valid name: it must be {rule.value}")
    return name


def is_name(name: str, rule: NameRule = NameRule.SUBDOMAIN) -> bool:
    return _allowed(name, rule)


@cache
def api_root(group: str, version: str) -> ApiPath:
    """Where a version of an API group is served; the core group has no name."""
    return api_path("/apis", group, version) if group else api_path("/api", version)


def api_path(root: str, *segments: str) -> ApiPath:
    """A root such as /apis/apps/v1 and the segments below it, each quoted. A segment never leaves its level."""
    if not isinstance(root, ApiPath) and not _ROOT.fullmatch(root):
        raise InvalidName(f"{_shown(root)} is not a valid root of a path")
    for segment in segments:
        if segment in ("", ".", "..") or "/" in segment or "\0" in segment:
            raise InvalidName(f"{_shown(segment)} is not a valid path segment")
    return ApiPath("/".join((root, *(quote(segment, safe=":@!$&'()*+,;=~") for segment in segments))))


def received_path(path: str) -> ApiPath:
    """A path as a client has sent it, for servers that parse it themselves. Never for a path with names in it."""
    return ApiPath(path)


def _allowed(name: str, rule: NameRule) -> bool:
    match rule:
        case NameRule.SUBDOMAIN:
            return len(name) <= LONGEST_NAME and all(map(_is_label, name.split(".")))
        case NameRule.LABEL:
            return len(name) <= LONGEST_LABEL and _is_label(name)
        case NameRule.SEGMENT:
            return 0 < len(name) <= LONGEST_NAME and name not in (".", "..") and not set(name) & set("/%\0")


def _is_label(text: str) -> bool:
    """[a-z0-9]([-a-z0-9]*[a-z0-9])? without an expression: every request asks this several times."""
    plain = text.isascii() and text.replace("-", "0").isalnum() and text == text.lower()
    return plain and text[0] != "-" and text[-1] != "-"


def _shown(text: str) -> str:
    """A name as a message shows it: short, and without control characters."""
    return ascii(text if len(text) <= 80 else text[:80] + "...")
