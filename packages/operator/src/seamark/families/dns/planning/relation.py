"""Which names can affect which: the answers that clients get, or who can show that a host is theirs. Pure.

A namespace may publish a name only if that affects no name of another namespace. A name affects

- itself;
- a wildcard above it, at any depth: then names exist there for which the wildcard does not answer any more
  (RFC 4592). The wildcard of the zone itself is an exception: its first namespace would keep the whole zone;
- the host that it is about, and the wildcard beside that: what is after a label that begins with `_`, wherever that
  label is (`_acme-challenge.host`, `_sip._tcp.host`, `mail._domainkey.host`, `*._tcp.host`). By such names others
  verify who controls the host and what is below it;
- as a wildcard, its parent: it answers for all names about the parent that do not exist;
- as the parent of a wildcard, that wildcard: one name is about both (`_acme-challenge.host`).
- A cut (NS, DNAME) also affects all names below it.

Names are in canonical form (`seamark_runtime.untrusted.dnsnames`), so letter case and IDN make no difference here.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

STAR = "*."


class Effect(enum.Enum):
    """What the first name would be for the other. The value reads on after a record, in a message."""

    ABOUT = "is about a name of another namespace"
    BELOW = "is below a wildcard record of another namespace"
    ANSWERS = "would answer for names about a name of another namespace"
    PARENT = "is the parent of a wildcard record of another namespace"


def may_affect(name: str, other: str, zone: str, *, cut: bool = False) -> bool:
    """Whether what is at a name may affect another name. `cut`: it is an NS or DNAME record."""
    if name == other or (cut and hides(name, other)):
        return True
    return any(other == found for found, _ in affected(name, zone))


def affected(name: str, zone: str) -> Iterator[tuple[str, Effect]]:
    """The other names that a name which is no cut may affect: at most four for each label."""
    yield beside(name), Effect.ANSWERS if is_wildcard(name) else Effect.PARENT
    yield from affected_above(name, zone)


def affected_above(name: str, zone: str) -> Iterator[tuple[str, Effect]]:
    """Those with fewer labels: first the hosts that it is about, then the wildcards above it, the nearest first."""
    rest, above = base(name), list(ancestors(base(name), zone))
    for host in above:
        if rest.startswith("_"):
            yield host, Effect.ABOUT
            yield STAR + host, Effect.ABOUT
        rest = host
    for parent in above:
        if parent != zone:
            yield STAR + parent, Effect.BELOW


def hides(cut: str, name: str) -> bool:
    """Whether a cut is above a name."""
    return name.endswith(f".{cut}")


def ancestors(name: str, zone: str) -> Iterator[str]:
    """The names above it, up to the zone itself, the nearest first."""
    rest = name
    while rest != zone and (dot := rest.find(".")) >= 0:
        rest = rest[dot + 1 :]
        yield rest


def is_wildcard(name: str) -> bool:
    return name.startswith(STAR)


def base(name: str) -> str:
    """A name without its `*`: a wildcard and its parent have the same base."""
    return name.removeprefix(STAR)


def beside(name: str) -> str:
    """The wildcard of a name, or the parent of a wildcard."""
    return base(name) if is_wildcard(name) else STAR + name
