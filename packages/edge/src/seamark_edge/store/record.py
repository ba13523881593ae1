"""Records, the rows that a database has of them, and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple


class Key(NamedTuple):
    """What identifies a record."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that is kept. `name` is what must be unique among its kind, if anything must."""

    kind: str
    id: str
    body: dict[str, Any]
    created: str
    name: str | None = None

    @property
    def key(self) -> Key:
        return Key(self.kind, self.id)

    def changed(self, **fields: Any) -> Record:
        return replace(self, body={**self.body, **fields})


class Row(NamedTuple):
    """A record as the database has it. Each write gives it a greater version."""

    record: Record
    version: int


@dataclass(frozen=True, slots=True)
class Write:
    """A record to insert (`version` is None), to change or to remove (`record` is None).

    A change or removal applies to that version of the row and to no other.
    """

    key: Key
    record: Record | None
    version: int | None

    @property
    def inserts(self) -> bool:
        return self.version is None


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that a database has, at one moment.

    `last` is the greatest version that it ever gave, `unreadable` the number of rows that are left alone.
    """

    rows: Sequence[Row] = ()
    secrets: Mapping[str, bytes] = field(default_factory=dict)
    last: int = 0
    unreadable: int = 0
