"""What the store needs of a database, and the errors that a database may raise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import structlog

from seamark_edge.store.record import Contents, Key, Record, Row, Write
from seamark_runtime.errors import Retry, SeamarkError
from seamark_runtime.untrusted.decoding import Malformed, decode_json

log = structlog.get_logger(__name__)


class DatabaseAway(Retry):
    """It can't be read or written for now. `uncertain`: what was sent may have been done."""

    def __init__(self, message: str, *, uncertain: bool = False) -> None:
        super().__init__(message)
        self.uncertain = uncertain


class NotWritten(SeamarkError):
    """The database refused this one change."""


RawRow = tuple[str, str, str | None, bytes, str, int]
Outcome = int | SeamarkError  # of one change: the new version of its row (0 for a removed one), or the error


class Database(Protocol):
    """Where the records of an edge are kept. Both databases pass the same contract tests.

    - `write` makes the changes in their order, each for itself, and answers when they are durable. The outcome of one
      is `Exists` where its key or name is taken, `Conflict` where its row has another version, `NotWritten` where the
      database refuses it for another reason. Each key is there once.
    - `write` raises `DatabaseAway` where nothing can be written now: none of the changes was made, unless `uncertain`.
    - Uniqueness of keys, and of names within a kind, is a constraint of the database.
    """

    async def write(self, writes: Sequence[Write]) -> list[Outcome]: ...

    async def find(self, key: Key, name: str | None) -> list[Row]:
        """The rows with this key, or with this name within the kind."""

    async def keep_secret(self, name: str, value: bytes) -> None: ...

    async def check(self, *, writes: bool = False) -> None:
        """Raises `DatabaseAway` where it does not answer, or (`writes`) can't be written; changes nothing."""

    async def reopen(self) -> Contents:
        """Everything that it has, by a new connection where it has connections."""

    async def resume(self, last: int) -> None:
        """Versions from now on are greater than this one. It was restored from an older copy."""

    async def close(self) -> None: ...


def readable(found: Sequence[RawRow]) -> list[Row]:
    """The rows whose body is a JSON object; the others are logged."""
    rows = []
    for kind, ident, name, body, created, version in found:
        try:
            rows.append(Row(Record(kind, ident, decode_json(body, dict[str, Any]), created, name), version))
        except Malformed as error:
            log.error("record of the state can't be read, it is left alone", kind=kind, id=ident, error=str(error))
    return rows
