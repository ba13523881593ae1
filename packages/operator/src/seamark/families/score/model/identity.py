"""Which resources are one and the same: those of a namespace with equal type, class and id, in whichever Workload.

What is made for a shared resource is named by its identity alone: no Workload that comes or goes changes the name.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

DEFAULT_CLASS = "default"
SHARED = "score.dev/shared"  # on what is made for a shared resource: the digest of its identity
LONGEST_ID, DIGEST = 40, 8  # characters


class Identity(NamedTuple):
    type: str
    class_: str
    id: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(str(self).encode()).hexdigest()[:DIGEST]

    @property
    def label(self) -> str:
        """A DNS label that no other identity of the namespace has."""
        readable = self.id.replace(".", "-")[:LONGEST_ID].rstrip("-")
        return f"{readable}-{self.digest}"

    @property
    def name(self) -> str:
        """Of an object that is made for it."""
        return f"{self.label}.{self.type.lower()}"

    def __str__(self) -> str:
        return f"{self.type}.{self.class_}#{self.id}"


def identity(type_: str, class_: str, id_: str) -> Identity | None:
    """None for a resource without an id: it is its Workload's alone."""
    return Identity(type_, class_ or DEFAULT_CLASS, id_) if id_ else None
