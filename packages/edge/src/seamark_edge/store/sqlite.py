"""The state in one SQLite file, written by one thread.

- The changes of one call are one transaction: many cost little more than one.
- WAL with full synchronisation: what was answered survives SIGKILL and power loss.
- `PRAGMA user_version` is the schema version.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec
import structlog

from seamark_edge.store.database import DatabaseAway, NotWritten, Outcome, readable
from seamark_edge.store.record import Contents, Key, Row, Write
from seamark_edge.store.schema import check_columns, half_migrated, missing
from seamark_runtime.errors import Conflict, Exists, UserError

log = structlog.get_logger(__name__)

T = TypeVar("T")

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE record (
            kind TEXT NOT NULL, id TEXT NOT NULL, name TEXT, body BLOB NOT NULL, created TEXT NOT NULL,
            PRIMARY KEY (kind, id)
        ) WITHOUT ROWID
        """,
        "CREATE TABLE secret (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    ),
    ("CREATE UNIQUE INDEX record_name ON record (kind, name) WHERE name IS NOT NULL",),
    ("ALTER TABLE record ADD COLUMN version INTEGER NOT NULL DEFAULT 1",),
)
COLUMNS = {
    "record": ("kind", "id", "name", "body", "created", "version"),
    "secret": ("name", "value"),
}
SELECT = "SELECT kind, id, name, body, created, version FROM record"
UNFIT = (sqlite3.InterfaceError, sqlite3.DataError, sqlite3.ProgrammingError, ValueError, TypeError, OverflowError)
UNIQUE = (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE)


class SqliteDatabase:
    """One file. Opening it creates or migrates it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="edge-store")
        self._db = opened(path)
        self._last = 0  # the greatest version that any row has, or had

    def contents(self) -> Contents:
        """On the caller's thread: at the start."""
        found = self._db.execute(f"{SELECT} ORDER BY id").fetchall()
        rows = readable(found)
        secrets = {name: bytes(value) for name, value in self._db.execute("SELECT name, value FROM secret")}
        self._last = max(self._last, max((row.version for row in rows), default=0))
        return Contents(rows, secrets, self._last, len(found) - len(rows))

    async def write(self, writes: Sequence[Write]) -> list[Outcome]:
        return await self._on_thread(lambda: self._write(writes))

    async def find(self, key: Key, name: str | None) -> list[Row]:
        where = f"{SELECT} WHERE kind = ? AND (id = ? OR name = ?)"
        return await self._on_thread(lambda: readable(self._db.execute(where, (key.kind, key.id, name)).fetchall()))

    async def keep_secret(self, name: str, value: bytes) -> None:
        def keep() -> None:
            with self._db:
                self._db.execute("INSERT OR REPLACE INTO secret (name, value) VALUES (?, ?)", (name, value))

        await self._on_thread(keep)

    async def check(self, *, writes: bool = False) -> None:
        """A file has no connection that could be lost: only a write shows anything."""

        def write() -> None:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                (version,) = self._db.execute("PRAGMA user_version").fetchone()
                self._db.execute(f"PRAGMA user_version = {version}")

        if writes:
            await self._on_thread(write)

    async def reopen(self) -> Contents:
        return await self._on_thread(self.contents)

    async def resume(self, last: int) -> None:
        self._last = max(self._last, last)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._writer, self._db.close)
        self._writer.shutdown(wait=True)

    async def _on_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._writer, work)
        except sqlite3.Error as error:
            raise DatabaseAway(f"{self._path} can't be used: {error}") from error

    def _write(self, writes: Sequence[Write]) -> list[Outcome]:
        with self._db:  # one transaction; a constraint undoes one statement of it, any other error all of them
            return [self._outcome(write) for write in writes]

    def _outcome(self, write: Write) -> Outcome:
        kind, ident = write.key
        self._last += 1
        try:
            if write.record is None:
                where, values = "DELETE FROM record WHERE kind = ? AND id = ? AND version = ?", (kind, ident)
                return 0 if self._db.execute(where, (*values, write.version)).rowcount else self._unless_there(write)
            record, body = write.record, msgspec.json.encode(write.record.body)
            if write.inserts:
                self._db.execute(
                    "INSERT INTO record (kind, id, name, body, created, version) VALUES (?, ?, ?, ?, ?, ?)",
                    (kind, ident, record.name, body, record.created, self._last),
                )
                return self._last
            changed = self._db.execute(
                "UPDATE record SET name = ?, body = ?, created = ?, version = ?"
                " WHERE kind = ? AND id = ? AND version = ?",
                (record.name, body, record.created, self._last, kind, ident, write.version),
            ).rowcount
            return self._last if changed else Conflict(f"{kind} {ident!r} was changed by another edge")
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode in UNIQUE:
                return Exists(f"{kind} {(write.record.name if write.record else None) or ident!r} exists")
            return NotWritten(f"{kind} {ident!r} can't be written: {error}")
        except UNFIT as error:
            return NotWritten(f"{kind} {ident!r} can't be written: {error}")

    def _unless_there(self, write: Write) -> Outcome:
        """Nothing was removed: the row is gone already, or another one."""
        there = self._db.execute("SELECT 1 FROM record WHERE kind = ? AND id = ?", write.key).fetchone()
        return Conflict(f"{write.key.kind} {write.key.id!r} was changed by another edge") if there else 0


def opened(path: Path) -> sqlite3.Connection:
    """A connection to a file that has the schema of this program."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise UserError(f"{path} can't be used", hint=error.strerror or str(error)) from error
    db = sqlite3.connect(path, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        migrate(db, str(path))
    except sqlite3.OperationalError as error:
        db.close()
        raise UserError(f"{path} can't be used", hint=str(error)) from error
    except sqlite3.DatabaseError as error:
        db.close()
        raise UserError(f"{path} is no state of an edge", hint=str(error)) from error
    except UserError:
        db.close()
        raise
    return db


def written(path: Path, contents: Contents) -> None:
    """Makes a new file with these contents: one file, nothing beside it."""
    with contextlib.closing(opened(path)) as db:
        with db:
            db.executemany(
                "INSERT INTO record (kind, id, name, body, created, version) VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (*record.key, record.name, msgspec.json.encode(record.body), record.created, version)
                    for record, version in contents.rows
                ),
            )
            db.executemany("INSERT INTO secret (name, value) VALUES (?, ?)", contents.secrets.items())
        db.execute("PRAGMA journal_mode = DELETE")


def migrate(db: sqlite3.Connection, what: str = "the state") -> None:
    db.isolation_level = None  # the module would end the transaction before each statement that changes the schema
    try:
        db.execute("BEGIN IMMEDIATE")
        (found,) = db.execute("PRAGMA user_version").fetchone()
        for number in missing(what, found, len(MIGRATIONS)):
            _migrate(db, what, number)
        check_columns(what, COLUMNS, {table: _columns(db, table) for table in COLUMNS if _columns(db, table)})
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    finally:
        db.isolation_level = "DEFERRED"


def _migrate(db: sqlite3.Connection, what: str, number: int) -> None:
    try:
        for statement in MIGRATIONS[number - 1]:
            db.execute(statement)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:  # the disk is full, the file is locked
            raise
        raise half_migrated(what, str(error)) from error
    db.execute(f"PRAGMA user_version = {number}")


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
