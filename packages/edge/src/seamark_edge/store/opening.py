"""Stores by their address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from seamark_edge.store.address import Address
from seamark_edge.store.sqlite import SqliteDatabase
from seamark_edge.store.store import Store
from seamark_runtime.errors import UserError

if TYPE_CHECKING:
    from seamark_edge.store.postgres import PostgresDatabase


def open_file(path: Path) -> Store:
    database = SqliteDatabase(path)
    return Store(database, database.contents())


async def open_database(address: Address, *, claims: bool = True) -> Store:
    """The state in PostgreSQL. `claims`: refused while another edge runs on it."""
    database = driver()(address, claims=claims)
    return Store(database, await database.open())


def driver() -> type[PostgresDatabase]:
    try:
        from seamark_edge.store.postgres import PostgresDatabase  # noqa: PLC0415  # it needs an optional package
    except ImportError as error:
        raise UserError(
            "a state in PostgreSQL needs the package asyncpg", hint="pip install 'seamark[postgresql]'"
        ) from error
    return PostgresDatabase
