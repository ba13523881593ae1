"""What an explanation is made of.

- A `Hop` is one object of the chain: how one gets to it, whether it works, by which condition, and what it depends
  on.
- The cause is the first broken hop that depends on nothing broken: fixing those above it would not help.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from seamark_runtime.api.meta import Key, Resource

Raw = dict[str, Any]  # an object as plain JSON: a hop may be of any kind, of any writer


class Truth(enum.Enum):
    """What is known of a hop's health."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"
    MISSING = "Missing"  # it should be there, and is not
    HIDDEN = "Hidden"  # the user may not read it: nothing is shown

    @property
    def broken(self) -> bool:
        return self in (Truth.FALSE, Truth.UNKNOWN, Truth.MISSING)


@dataclass(frozen=True)
class ObservedCondition:
    """One condition of an object, with its writer and its meaning."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: str = ""  # its lastTransitionTime
    about: str = ""  # which part of the object: a parent, a listener
    writer: str = ""  # the field manager that owns it
    good: bool = True  # as it should be
    current: bool = True  # about the current generation of the object, not an older one
    meaning: str = ""  # what its reason means, if Seamark sets it


@dataclass(frozen=True)
class Hop:
    resource: Resource
    key: Key
    how: str = ""  # what leads to it: "backend of rule 1"
    truth: Truth = Truth.TRUE
    message: str = ""  # its worst condition, in short
    fix: str = ""
    conditions: tuple[ObservedCondition, ...] = ()
    hops: tuple[Hop, ...] = ()
    owners: tuple[tuple[str, str], ...] = ()  # (field, its last manager): of spec and status, two levels deep
    evidence: tuple[str, ...] = ()  # what the operator knows at this moment, if it was requested
    as_of: str = ""  # since when no operator keeps its status up to date; empty while one does
    repeated: bool = field(default=False)  # it is shown elsewhere in the tree with its dependencies

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key}"

    def walk(self) -> Iterator[Hop]:
        yield self
        for hop in self.hops:
            yield from hop.walk()


def root_cause(hop: Hop) -> Hop | None:
    """The first broken hop that depends on nothing broken; None if there is none."""
    for below in hop.hops:
        if (found := root_cause(below)) is not None:
            return found
    return hop if hop.truth.broken else None
