"""The whole state of an edge, from a file or a database into another one.

- What is read is one moment of the state. To move it, no edge may run on it; to copy it, one may.
- What is written to replaces nothing without `force`, and has all of the state or is as it was before.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.process.backup import put_back, records
from seamark_edge.process.server import own
from seamark_edge.store.address import Address, is_database
from seamark_edge.store.database import DatabaseAway
from seamark_edge.store.opening import driver
from seamark_edge.store.record import Contents
from seamark_edge.store.sqlite import SqliteDatabase, written
from seamark_runtime.errors import UserError

if TYPE_CHECKING:
    from seamark_edge.store.postgres import PostgresDatabase

Place = Path | Address


def place(text: str, password_file: str = "") -> Place:
    """A URL of a database, or a file; a directory stands for the file in it."""
    return Address(text, password_file) if is_database(text) else EdgeSettings(state=text).file


async def move(source: Place, target: Place, *, force: bool = False) -> int:
    """From one to the other, which has it from then on; the source stays as it is. How many records it has."""
    if str(source) == str(target):
        raise UserError("the state is there already", hint="--from and --to are the same")
    contents = await read(source)
    await write(contents, target, force=force)
    return len(contents.rows)


async def read(source: Place, *, running: bool = False) -> Contents:
    """`running`: also while an edge runs on it."""
    if isinstance(source, Address):
        async with _opened(source, claims=not running) as (_, contents):
            return _whole(source, contents)
    if not source.exists():
        raise UserError(f"there is no state at {source}")
    handle = own(source)
    try:
        database = SqliteDatabase(source)
        contents = database.contents()
        await database.close()
    finally:
        os.close(handle)
    return _whole(source, contents)


async def write(contents: Contents, target: Place, *, force: bool = False) -> None:
    if isinstance(target, Path):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "edge.db")
            written(copy, contents)
            put_back(copy, target, force=force)
        return
    async with _opened(target, claims=True) as (database, there):
        if (there.rows or there.secrets or there.unreadable) and not force:
            raise UserError(f"there is a state at {target}", hint="replace it with --force")
        try:
            await database.replace(contents)
        except DatabaseAway as error:
            raise UserError(error.message) from None


def save(contents: Contents, copy: Path) -> None:
    """Writes a new file in the format of `backup`."""
    try:
        os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise UserError(f"{copy} can't be written ({error.strerror})", hint="choose another with --output") from None
    try:
        written(copy, contents)
    except BaseException:
        copy.unlink(missing_ok=True)
        raise


async def load(copy: Path, target: Address, *, force: bool = False) -> None:
    """A copy into a database."""
    records(copy)
    with tempfile.TemporaryDirectory() as folder:  # the copy stays as it is, whatever its version
        readable = Path(folder, "edge.db")
        shutil.copyfile(copy, readable)
        await write(await read(readable), target, force=force)


def _whole(source: Place, contents: Contents) -> Contents:
    if contents.unreadable:
        raise UserError(f"{contents.unreadable} records of {source} can't be read", hint="the log above names them")
    return contents


@asynccontextmanager
async def _opened(address: Address, *, claims: bool) -> AsyncIterator[tuple[PostgresDatabase, Contents]]:
    database = driver()(address, claims=claims)
    contents = await database.open()
    try:
        yield database, contents
    finally:
        await database.close()
