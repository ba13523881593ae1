"""A copy of an edge's state, taken while it runs, and put back while it does not.

- A copy is one moment of the state, whole, in one file; writes go on meanwhile.
- What is put back is looked at first: a file that is no state, or of a newer program, is refused and nothing changes.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from seamark_edge.process.server import own
from seamark_edge.store.schema import missing
from seamark_edge.store.sqlite import MIGRATIONS
from seamark_runtime.errors import UserError


def back_up(state: Path, copy: Path) -> None:
    if not state.exists():
        raise UserError(f"there is no state at {state}", hint="name it with --state")
    try:
        os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise UserError(f"{copy} can't be written ({error.strerror})", hint="choose another with --output") from None
    try:
        with _reading(state) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, nothing beside it
    except (sqlite3.Error, UserError) as error:
        copy.unlink(missing_ok=True)
        raise UserError(f"{state} can't be copied ({error})") from None


def put_back(copy: Path, state: Path, *, force: bool = False) -> None:
    records(copy)
    handle = own(state)  # an edge that runs has it
    try:
        if state.exists() and not force:
            raise UserError(f"there is a state at {state}", hint="replace it with --force")
        fresh = state.with_name(f".{state.name}.restored")
        shutil.copyfile(copy, fresh)
        fresh.chmod(0o600)
        for beside in ("-wal", "-shm"):  # of the old one
            state.with_name(state.name + beside).unlink(missing_ok=True)
        fresh.replace(state)
    except OSError as error:
        raise UserError(f"{state} can't be written ({error.strerror})") from None
    finally:
        os.close(handle)


def records(copy: Path) -> int:
    """How much a state holds; raises if it is none, or is damaged."""
    try:
        with _reading(copy) as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            (sound,) = db.execute("PRAGMA integrity_check").fetchone()
            (count,) = db.execute("SELECT count(*) FROM record").fetchone()
    except sqlite3.Error as error:
        raise UserError(f"{copy} is no state of an edge ({error})") from None
    if sound != "ok":
        raise UserError(f"{copy} is damaged ({sound})", hint="use another copy")
    missing(str(copy), version, len(MIGRATIONS))
    return int(count)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.exists():
        raise UserError(f"there is no file {path}")
    with closing(sqlite3.connect(path)) as db:
        yield db
