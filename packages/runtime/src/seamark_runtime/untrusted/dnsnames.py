"""DNS names in one canonical form: every comparison of names (filters, zones, ownership, targets) is made in it.

- Canonical: lower case, A-labels (UTS-46 mapping, then IDNA 2008), no trailing dot, at most 253 characters.
- A wildcard is the whole first label of a longer name. Underscores are allowed (SRV, DKIM).
- Escapes (`\\.`, `\\046`, `%2e`) have no canonical form. A name without a canonical form raises `InvalidDnsName`:
  code that decides by names must refuse it.
- `DnsName` is a type of its own, and only `canonical_name` makes one.
"""

from __future__ import annotations

import string
from typing import NewType

import idna

LONGEST_LABEL, LONGEST_NAME = 63, 253
LONGEST_TEXT = 4 * LONGEST_NAME  # characters of any spelling: mapping can remove some

_LABEL = string.ascii_lowercase + string.digits + "_-"


class InvalidDnsName(ValueError):
    """A name without a canonical form. The message reads on after the name of a field."""


DnsName = NewType("DnsName", str)  # a name in canonical form; made by `canonical_name` alone


def canonical_name(text: str) -> DnsName:
    """The one spelling of a name."""
    if len(text) > LONGEST_TEXT:
        raise InvalidDnsName(f"has {len(text)} characters; a name has at most {LONGEST_NAME}")
    bare = folded(text)
    if not bare:
        raise InvalidDnsName("must not be empty")
    labels = bare.split(".")
    stars = 1 if labels[0] == "*" and len(labels) > 1 else 0
    joined = ".".join(labels[:stars] + [_label(label) for label in labels[stars:]])
    if len(joined) > LONGEST_NAME:
        raise InvalidDnsName(f"has {len(joined)} characters; a name has at most {LONGEST_NAME}")
    return DnsName(joined)


def folded(text: str) -> str:
    """Lower case by UTS-46 without a trailing dot; labels are not checked and not encoded yet."""
    bare = text.strip()
    if not bare.isascii():
        try:
            bare = idna.uts46_remap(bare, std3_rules=False)
        except (idna.IDNAError, UnicodeError) as error:
            raise InvalidDnsName(f"has a character that can't be in a domain name: {_plain(error)}") from None
    return bare.removesuffix(".").lower()


def _label(label: str) -> str:
    if not label:
        raise InvalidDnsName("has an empty label")
    if not label.isascii():
        try:
            label = idna.alabel(label).decode()
        except (idna.IDNAError, UnicodeError) as error:
            raise InvalidDnsName(f"has a label that can't be a domain name: {_plain(error)}") from None
    if len(label) > LONGEST_LABEL:
        raise InvalidDnsName(f"has a label of {len(label)} characters; a label has at most {LONGEST_LABEL}")
    if label.strip(_LABEL) or label.startswith("-") or label.endswith("-"):  # stripping leaves what is not allowed
        raise InvalidDnsName(f"has the label {label!r}; a label is of letters, digits and hyphens")
    return label


def _plain(error: Exception) -> str:
    return str(error).encode("ascii", "backslashreplace").decode()[:120]


def within(name: str, zone: str) -> bool:
    """At a label boundary: `a.example.org` is within `example.org`, `badexample.org` is not; all are within ""."""
    return not zone or name == zone or name.endswith(f".{zone}")
