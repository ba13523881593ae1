"""The edge's state: small JSON records in SQLite, mirrored in memory.

- Reads are from memory. A change is made in memory first, so that a check and the change that follows it are one
  step on the loop; then it is written, in order, by one thread; the caller is answered once it is on disk.
- Changes that arrive while the thread writes are its next transaction, together: many cost little more than one.
- WAL with full synchronisation: what was answered survives SIGKILL and power loss.
- `PRAGMA user_version` is the schema version; each migration runs once, in one transaction.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import structlog

from seamark_runtime.errors import Exists, UserError
from seamark_runtime.untrusted.decoding import Malformed, decode_json

log = structlog.get_logger(__name__)

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE record (
        kind TEXT NOT NULL, id TEXT NOT NULL, name TEXT, body BLOB NOT NULL, created TEXT NOT NULL,
        PRIMARY KEY (kind, id)
    ) WITHOUT ROWID;
    CREATE TABLE secret (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    """,
    "CREATE UNIQUE INDEX record_name ON record (kind, name) WHERE name IS NOT NULL;",
)


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that is kept. `name` is what must be unique among its kind, if anything must."""

    kind: str
    id: str
    body: dict[str, Any]
    created: str
    name: str | None = None

    def changed(self, **fields: Any) -> Record:
        return replace(self, body={**self.body, **fields})


@dataclass(frozen=True, slots=True)
class _Change:
    statement: str
    values: tuple[Any, ...]
    written: asyncio.Future[None]


class Store:
    """Records by kind and id, and by kind and name.

    - `put` and `remove` take effect at once for every reader here, and return when the change is on disk; if it
      can't be written, it is undone and the error raised.
    - A taken name raises `Exists` before anything happens.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records: dict[str, dict[str, Record]] = {}
        self._names: dict[tuple[str, str], str] = {}
        self.version = 0  # grows with every change: what was made from the records is good for one version
        self._changes: list[_Change] = []  # that no writer has taken yet
        self._writing = False  # True while the thread has changes; then nothing else is given to it
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="edge-store")
        self._db = self._open()
        self._load()

    def all(self, kind: str) -> Iterator[Record]:
        return iter(list(self._records.get(kind, {}).values()))

    def get(self, kind: str, ident: str) -> Record | None:
        return self._records.get(kind, {}).get(ident)

    def named(self, kind: str, name: str) -> Record | None:
        ident = self._names.get((kind, name))
        return self.get(kind, ident) if ident else None

    async def put(self, record: Record) -> Record:
        before, body = self.get(record.kind, record.id), msgspec.json.encode(record.body)
        if record.name is not None and self._names.get((record.kind, record.name), record.id) != record.id:
            raise Exists(f"{record.kind} {record.name!r} exists")
        self._remember(record, before)
        try:
            await self._write(
                "INSERT OR REPLACE INTO record (kind, id, name, body, created) VALUES (?, ?, ?, ?, ?)",
                (record.kind, record.id, record.name, body, record.created),
            )
        except Exception:
            self._forget(record)
            if before is not None:
                self._remember(before, None)
            raise
        return record

    async def remove(self, record: Record) -> None:
        self._forget(record)
        try:
            await self._write("DELETE FROM record WHERE kind = ? AND id = ?", (record.kind, record.id))
        except Exception:
            self._remember(record, None)
            raise

    def secret(self, name: str) -> bytes | None:
        row = self._db.execute("SELECT value FROM secret WHERE name = ?", (name,)).fetchone()
        return bytes(row[0]) if row else None

    def keep_secret(self, name: str, value: bytes) -> None:
        """At start only: it writes on the caller's thread."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO secret (name, value) VALUES (?, ?)", (name, value))

    def close(self) -> None:
        self._writer.shutdown(wait=True)
        self._write_all(self._changes)
        self._db.close()

    async def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        change = _Change(statement, values, asyncio.get_running_loop().create_future())
        self._changes.append(change)
        self._begin()
        # Shielded: a caller that went away must not leave the file behind the memory.
        await asyncio.shield(change.written)

    def _begin(self) -> None:
        if self._writing or not self._changes:
            return
        changes, self._changes = self._changes, []
        self._writing = True
        writing = asyncio.get_running_loop().run_in_executor(self._writer, self._write_all, changes)
        writing.add_done_callback(lambda done: self._written(changes, done.result()))

    def _written(self, changes: list[_Change], errors: list[Exception | None]) -> None:
        self._writing = False
        for change, error in zip(changes, errors, strict=True):
            if error is None:
                change.written.set_result(None)
            else:
                change.written.set_exception(error)
        self._begin()

    def _write_all(self, changes: list[_Change]) -> list[Exception | None]:
        """In one transaction; if that fails, each in its own, so that one that can't be written fails alone."""
        try:
            with self._db:
                for change in changes:
                    self._db.execute(change.statement, change.values)
        except Exception as error:
            return [error] if len(changes) == 1 else [self._write_all([change])[0] for change in changes]
        return [None] * len(changes)

    def _remember(self, record: Record, before: Record | None) -> None:
        self.version += 1
        if before is not None and before.name is not None:
            self._names.pop((before.kind, before.name), None)
        self._records.setdefault(record.kind, {})[record.id] = record
        if record.name is not None:
            self._names[record.kind, record.name] = record.id

    def _forget(self, record: Record) -> None:
        self.version += 1
        self._records.get(record.kind, {}).pop(record.id, None)
        if record.name is not None:
            self._names.pop((record.kind, record.name), None)

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            db = sqlite3.connect(self._path, check_same_thread=False)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            migrate(db)
        except sqlite3.DatabaseError as error:
            raise UserError(f"{self._path} is no state of an edge", hint=str(error)) from error
        return db

    def _load(self) -> None:
        for kind, ident, name, body, created in self._db.execute(
            "SELECT kind, id, name, body, created FROM record ORDER BY id"
        ):
            try:
                self._remember(Record(kind, ident, decode_json(body, dict[str, Any]), created, name), None)
            except Malformed as error:
                log.error("record of the state can't be read, it is left alone", kind=kind, id=ident, error=str(error))


def migrate(db: sqlite3.Connection) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise UserError(
            f"the state has schema version {version}, this program knows {len(MIGRATIONS)}", hint="run a newer seamark"
        )
    for number in range(version, len(MIGRATIONS)):
        db.executescript(f"BEGIN; {MIGRATIONS[number]} PRAGMA user_version = {number + 1}; COMMIT;")
