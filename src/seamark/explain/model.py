"""What an explanation is made of.

- A `Hop` is one object of the chain: how one gets to it, whether it is as it should be, in whose words, and what it
  stands on.
- The hop to blame is the first broken one that stands on nothing broken: mending those above it would not help.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from seamark.api.meta import Key, Resource

Raw = dict[str, Any]  # an object as plain JSON: a hop may be of any kind, of any writer


class Truth(enum.Enum):
    """What is known of a hop, as a person may rely on it."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"
    MISSING = "Missing"  # it should be there, and is not
    HIDDEN = "Hidden"  # whoever asks may not read it: nothing is said about it

    @property
    def broken(self) -> bool:
        return self in (Truth.FALSE, Truth.UNKNOWN, Truth.MISSING)


@dataclass(frozen=True)
class Said:
    """One statement about an object: a condition, or what its status shows otherwise."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: str = ""  # when its status last changed, as the object says
    about: str = ""  # which part of the object: a parent, a listener
    writer: str = ""  # the field manager that owns it
    good: bool = True  # as it should be
    current: bool = True  # said about the object as it is now, not about an older spec
    meaning: str = ""  # what its reason means, where we are the ones who give it


@dataclass(frozen=True)
class Hop:
    resource: Resource
    key: Key
    how: str = ""  # what leads to it: "backend of rule 1"
    truth: Truth = Truth.TRUE
    words: str = ""  # the worst that is said, in short
    fix: str = ""
    said: tuple[Said, ...] = ()
    hops: tuple[Hop, ...] = ()
    owners: tuple[tuple[str, str], ...] = ()  # (field, whoever set it last): of spec and status, two levels deep
    evidence: tuple[str, ...] = ()  # what the operator knows at this moment, where it was asked
    again: bool = field(default=False)  # it is shown elsewhere in the tree with what it stands on

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key}"

    def walk(self) -> Iterator[Hop]:
        yield self
        for hop in self.hops:
            yield from hop.walk()


def culprit(hop: Hop) -> Hop | None:
    """The first broken hop that stands on nothing broken; None if there is none."""
    for below in hop.hops:
        if (found := culprit(below)) is not None:
            return found
    return hop if hop.truth.broken else None
