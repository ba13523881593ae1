"""The schema of the state in PostgreSQL."""

from __future__ import annotations

from typing import Any

import asyncpg

from seamark_edge.store.schema import check_columns, half_migrated, missing

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE SEQUENCE seamark_edge_version;
    CREATE TABLE seamark_edge_record (
        kind text NOT NULL, id text NOT NULL, name text, body bytea NOT NULL, created text NOT NULL,
        version bigint NOT NULL, PRIMARY KEY (kind, id)
    );
    CREATE UNIQUE INDEX seamark_edge_record_name ON seamark_edge_record (kind, name) WHERE name IS NOT NULL;
    CREATE TABLE seamark_edge_secret (name text PRIMARY KEY, value bytea NOT NULL);
    """,
)
COLUMNS = {
    "seamark_edge_record": ("kind", "id", "name", "body", "created", "version"),
    "seamark_edge_secret": ("name", "value"),
    "seamark_edge_schema": ("version",),
}
ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('seamark-edge-schema'), hashtext(current_schema()))"
FOUND = """
    SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name LIKE 'seamark_edge_%'
"""


async def migrate(connection: Any, what: str) -> None:
    """Brings the database to the schema of this program, unless it is newer by one version."""
    async with connection.transaction():
        await connection.execute(ONE_AT_A_TIME)
        found = await _columns(connection)
        version = 0
        if "seamark_edge_schema" in found:
            version = await connection.fetchval("SELECT max(version) FROM seamark_edge_schema") or 0
        for number in missing(what, version, len(MIGRATIONS)):
            if number == 1:
                await connection.execute("CREATE TABLE IF NOT EXISTS seamark_edge_schema (version integer NOT NULL)")
            try:
                await connection.execute(MIGRATIONS[number - 1])
            except (asyncpg.DuplicateTableError, asyncpg.SyntaxOrAccessError) as error:
                if isinstance(error, asyncpg.InsufficientPrivilegeError):
                    raise
                raise half_migrated(what, str(error)) from error
            await connection.execute("DELETE FROM seamark_edge_schema")
            await connection.execute("INSERT INTO seamark_edge_schema (version) VALUES ($1)", number)
        check_columns(what, COLUMNS, await _columns(connection))


async def _columns(connection: Any) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for table, column in await connection.fetch(FOUND):
        found.setdefault(table, set()).add(column)
    return found
