"""The state in PostgreSQL, by one connection.

- Changes of one call that are of one sort are one statement: a single change is one statement, and so are many.
- The connection that writes may hold the claim on the state: another edge that runs on it can't write.
- Each operation has a deadline. A connection that did not answer in time is given up, and what it did is uncertain.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

import asyncpg
import msgspec
import structlog

from seamark_edge.store.address import Address
from seamark_edge.store.database import DatabaseAway, NotWritten, Outcome, readable
from seamark_edge.store.pgschema import migrate
from seamark_edge.store.record import Contents, Key, Row, Write
from seamark_runtime.errors import Conflict, Exists, UserError

log = structlog.get_logger(__name__)

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 5.0
LOAD_SECONDS = 60.0
# A peer that vanished is noticed by the server within 15 s: until then it holds its claim.
SERVER_SETTINGS = {
    "application_name": "seamark-edge",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "3",
    "tcp_keepalives_count": "3",
    "synchronous_commit": "on",  # what was answered survives a crash of the server
}
CLAIM = "SELECT pg_try_advisory_lock(hashtext('seamark-edge'), hashtext(current_schema()))"
SELECT = "SELECT kind, id, name, body, created, version FROM seamark_edge_record"
LAST = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM seamark_edge_version"
NEW = "unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bigint[])"
INSERT = f"""
    INSERT INTO seamark_edge_record (kind, id, name, body, created, version)
    SELECT kind, id, name, body, created, nextval('seamark_edge_version')
    FROM {NEW} AS new (kind, id, name, body, created, version)
    ON CONFLICT DO NOTHING RETURNING kind, id, version
"""  # noqa: S608  # of constants
UPDATE = f"""
    UPDATE seamark_edge_record AS old
    SET name = new.name, body = new.body, created = new.created, version = nextval('seamark_edge_version')
    FROM {NEW} AS new (kind, id, name, body, created, version)
    WHERE old.kind = new.kind AND old.id = new.id AND old.version = new.version
    RETURNING old.kind, old.id, old.version
"""  # noqa: S608  # of constants
DELETE = """
    DELETE FROM seamark_edge_record AS old
    USING unnest($1::text[], $2::text[], $3::bigint[]) AS gone (kind, id, version)
    WHERE old.kind = gone.kind AND old.id = gone.id AND old.version = gone.version
    RETURNING old.kind, old.id, 0
"""
KEEP = """
    INSERT INTO seamark_edge_secret (name, value) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
# Of one change, and not of the database: what is not valid as a value, and constraints other than uniqueness.
UNFIT = (asyncpg.DataError, asyncpg.exceptions.DataError, asyncpg.IntegrityConstraintViolationError)


class PostgresDatabase:
    """One database of a server, in the schema that is its user's default."""

    def __init__(self, address: Address, *, claims: bool) -> None:
        self.address = address
        self._claims = claims  # another one that claims can't be open beside this one
        self._connection: Any = None  # None before `reopen`, and after it failed
        self._busy = asyncio.Lock()  # one operation at a time

    async def open(self) -> Contents:
        """At the start: what is wrong is for a person to correct."""
        try:
            return await self.reopen()
        except DatabaseAway as error:
            await self.close()
            raise UserError(error.message) from None

    async def reopen(self) -> Contents:
        async with self._busy:
            self._give_up()
            try:
                self._connection = await self._connected()
                async with asyncio.timeout(LOAD_SECONDS):
                    if await self._connection.fetchval("SELECT current_schema()") is None:
                        raise UserError(f"{self.address} has no default schema", hint="create the one that is named")
                    if self._claims and not await self._connection.fetchval(CLAIM):
                        raise DatabaseAway(f"another edge runs on {self.address}")
                    await migrate(self._connection, str(self.address))
                    for statement in (INSERT, UPDATE, DELETE):  # the driver looks types up: not with the first change
                        await self._connection.prepare(statement)
                    return await _contents(self._connection)
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
                self._give_up()
                raise self._away(error) from error
            except BaseException:
                self._give_up()
                raise

    async def write(self, writes: Sequence[Write]) -> list[Outcome]:
        outcomes: dict[Key, Outcome] = {}
        async with self._using() as connection:
            for _, sort in groupby(writes, key=lambda write: (write.record is None, write.inserts)):
                outcomes |= await _together(connection, list(sort))
        return [outcomes[write.key] for write in writes]

    async def find(self, key: Key, name: str | None) -> list[Row]:
        async with self._using() as connection:
            where = f"{SELECT} WHERE kind = $1 AND (id = $2 OR name = $3)"
            return readable(await connection.fetch(where, key.kind, key.id, name))

    async def keep_secret(self, name: str, value: bytes) -> None:
        async with self._using() as connection:
            await connection.execute(KEEP, name, value)

    async def check(self, *, writes: bool = False) -> None:
        async with self._using() as connection:
            await connection.execute("UPDATE seamark_edge_schema SET version = version" if writes else "SELECT 1")

    async def resume(self, last: int) -> None:
        async with self._using() as connection:
            await connection.fetchval("SELECT setval('seamark_edge_version', $1)", last)

    async def replace(self, contents: Contents) -> None:
        """Has these rows and secrets from now on, and nothing else: all of it, or nothing changes."""
        rows = [
            (*row.record.key, row.record.name, msgspec.json.encode(row.record.body), row.record.created, row.version)
            for row in contents.rows
        ]
        async with self._using(LOAD_SECONDS) as connection, connection.transaction():
            await connection.execute("TRUNCATE seamark_edge_record, seamark_edge_secret")
            await connection.copy_records_to_table("seamark_edge_record", records=rows)
            await connection.copy_records_to_table("seamark_edge_secret", records=list(contents.secrets.items()))
            await connection.fetchval("SELECT setval('seamark_edge_version', $1)", max(contents.last, 1))

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                await connection.close(timeout=ANSWER_SECONDS)
            except (OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresError) as error:
                log.info("the connection to the database was cut off", reason=_reason(error))

    async def _connected(self) -> Any:
        password = self.address.password()
        try:
            return await asyncpg.connect(
                self.address.url, password=password, timeout=CONNECT_SECONDS, server_settings=SERVER_SETTINGS
            )
        except ssl.CertificateError:  # it is a ValueError, too
            raise
        except (ValueError, asyncpg.ClientConfigurationError):  # its text may have the password
            raise UserError(
                f"{self.address} is no URL of a database", hint="write postgresql://user@host:port/database"
            ) from None

    @asynccontextmanager
    async def _using(self, seconds: float | None = None) -> AsyncIterator[Any]:
        async with self._busy:
            connection = self._connection
            if connection is None or connection.is_closed():
                raise DatabaseAway(f"{self.address}: the connection was closed")
            try:
                async with asyncio.timeout(ANSWER_SECONDS if seconds is None else seconds):
                    yield connection
            except asyncpg.PostgresError as error:
                # The server has answered: nothing was done. After a FATAL the connection ends.
                raise self._away(error, uncertain=connection.is_closed()) from error
            except (asyncpg.InterfaceError, OSError, TimeoutError) as error:
                self._give_up()
                raise self._away(error, uncertain=True) from error
            except asyncio.CancelledError:
                self._give_up()
                raise

    def _away(self, error: Exception, *, uncertain: bool = False) -> DatabaseAway:
        return DatabaseAway(f"{self.address} can't be used: {_reason(error)}", uncertain=uncertain)

    def _give_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()


async def _contents(connection: Any) -> Contents:
    """The state at one moment."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        found = await connection.fetch(f"{SELECT} ORDER BY id")
        rows = readable(found)
        secrets = dict(await connection.fetch("SELECT name, value FROM seamark_edge_secret"))
        return Contents(rows, secrets, await connection.fetchval(LAST), len(found) - len(rows))


async def _together(connection: Any, writes: list[Write]) -> dict[Key, Outcome]:
    """Changes of one sort, by one statement; one by one where one of them is not fit."""
    try:
        done = {Key(kind, ident): version for kind, ident, version in await _statement(connection, writes)}
    except (asyncpg.UniqueViolationError, *UNFIT) as error:
        if len(writes) > 1:
            return {write.key: (await _together(connection, [write]))[write.key] for write in writes}
        return {writes[0].key: _refusal(writes[0], error)}
    return {write.key: done[write.key] if write.key in done else await _not_done(connection, write) for write in writes}


async def _statement(connection: Any, writes: list[Write]) -> Any:
    kinds, idents = zip(*(write.key for write in writes), strict=True)
    versions = [write.version for write in writes]
    records = [write.record for write in writes if write.record is not None]
    if not records:
        return await connection.fetch(DELETE, kinds, idents, versions)
    columns = [
        [record.name for record in records],
        [msgspec.json.encode(record.body) for record in records],
        [record.created for record in records],
    ]
    return await connection.fetch(INSERT if writes[0].inserts else UPDATE, kinds, idents, *columns, versions)


async def _not_done(connection: Any, write: Write) -> Outcome:
    """Why the statement left this one out."""
    if write.record is not None and write.inserts:
        return _exists(write)
    there = await connection.fetchval("SELECT 1 FROM seamark_edge_record WHERE kind = $1 AND id = $2", *write.key)
    if write.record is None and not there:
        return 0
    return Conflict(f"{write.key.kind} {write.key.id!r} was changed by another edge")


def _refusal(write: Write, error: Exception) -> Outcome:
    if isinstance(error, asyncpg.UniqueViolationError):
        return _exists(write)
    return NotWritten(f"{write.key.kind} {write.key.id!r} can't be written: {_reason(error)}")


def _exists(write: Write) -> Exists:
    return Exists(f"{write.key.kind} {(write.record.name if write.record else None) or write.key.id!r} exists")


def _reason(error: Exception) -> str:
    """One line. No message of the server or the system has the password; those of the driver are not shown."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, asyncpg.InterfaceError):
        return "the connection was closed"
    return (str(error).splitlines() or [type(error).__name__])[0]
