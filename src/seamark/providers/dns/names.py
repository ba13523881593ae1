"""Names in one spelling, and what is wrong with one that has none."""

from __future__ import annotations

import re

import idna

LONGEST_LABEL, LONGEST_NAME = 63, 253
LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")


class BadName(ValueError):
    """In words that fit after the name of a field."""


def normal(name: str) -> str:
    """Lower case, A-labels, no trailing dot. A wildcard may stand first; underscores are allowed (SRV, DKIM)."""
    bare = name.strip().removesuffix(".")
    if not bare:
        raise BadName("must not be empty")
    labels = [_label(label, first=number == 0) for number, label in enumerate(bare.split("."))]
    joined = ".".join(labels)
    if len(joined) > LONGEST_NAME:
        raise BadName(f"has {len(joined)} characters; a name has at most {LONGEST_NAME}")
    return joined


def _label(label: str, *, first: bool) -> str:
    if label == "*" and first:
        return label
    if not label:
        raise BadName("has an empty label")
    if not label.isascii():
        try:
            label = idna.encode(label, uts46=True).decode()
        except (idna.IDNAError, UnicodeError) as error:
            raise BadName(f"has a label that can't be a domain name: {_plain(error)}") from None
    label = label.lower()
    if len(label) > LONGEST_LABEL:
        raise BadName(f"has a label of {len(label)} characters; a label has at most {LONGEST_LABEL}")
    if not LABEL.fullmatch(label):
        raise BadName(f"has the label {label!r}; a label is of letters, digits and hyphens")
    return label


def _plain(error: Exception) -> str:
    return str(error).encode("ascii", "backslashreplace").decode()[:120]


def within(name: str, zone: str) -> bool:
    """At a label boundary: `a.example.org` is within `example.org`, `badexample.org` is not."""
    return not zone or name == zone or name.endswith(f".{zone}")
