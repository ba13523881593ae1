"""The state in a file: what was answered is there again, whatever happened in between.

What a file and PostgreSQL promise alike is in `tests/edge/test_store_contract.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from seamark_edge.store import sqlite
from seamark_edge.store.database import DatabaseAway
from seamark_edge.store.opening import open_file
from seamark_edge.store.record import Record
from seamark_edge.store.sqlite import MIGRATIONS, SqliteDatabase
from seamark_edge.store.store import Store
from seamark_runtime.errors import UserError

WRITER = """
import asyncio, sys
from pathlib import Path
from seamark_edge.store.database import DatabaseAway
from seamark_edge.store.opening import open_file
from seamark_edge.store.record import Record

async def main():
    store = open_file(Path(sys.argv[1]))
    for number in range(100000):
        await store.put(Record("thing", f"{number:06}", {"n": number}, "now", f"name-{number}"))
        print(number, flush=True)

asyncio.run(main())
"""


def test_changes_that_arrive_together_share_a_transaction(tmp_path: Path) -> None:
    async def case() -> None:
        database, statements = SqliteDatabase(tmp_path / "s.db"), list[str]()
        store = Store(database, database.contents())
        database._db.set_trace_callback(statements.append)
        await asyncio.gather(*(store.put(Record("thing", f"{n}", {}, "then")) for n in range(100)))
        assert statements.count("COMMIT") <= 3
        await store.close()

    asyncio.run(case())


def test_a_full_disk_refuses_changes_and_nothing_is_half_done(tmp_path: Path) -> None:
    async def case() -> None:
        database = SqliteDatabase(tmp_path / "s.db")
        store = Store(database, database.contents())
        await store.put(Record("thing", "1", {"a": 1}, "then", "name"))
        pages = database._db.execute("PRAGMA page_count").fetchone()[0]
        database._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(DatabaseAway, match="full") as refusal:
            await store.put(Record("thing", "1", {"a": "x" * 100_000}, "then", "other"))
        assert not refusal.value.uncertain
        assert "full" in store.problem
        found = store.named("thing", "name")
        assert found is not None
        assert found.body == {"a": 1}
        await store.keep(Record("thing", "2", {"in": "use"}, "then"))
        database._db.execute("PRAGMA max_page_count = 100000")
        while store.problem:
            await asyncio.sleep(0.01)
        await store.close()
        again = open_file(tmp_path / "s.db")
        assert {record.id: record.body for record in again.all("thing")} == {"1": {"a": 1}, "2": {"in": "use"}}
        await again.close()

    asyncio.run(case())


def test_everything_that_was_answered_survives_a_sigkill_in_the_middle_of_writing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    answered = [int(writer.stdout.readline()) for _ in range(50)]
    os.kill(writer.pid, signal.SIGKILL)
    answered += [int(line) for line in writer.stdout.read().split()]
    writer.wait()
    writer.stdout.close()
    store = open_file(path)
    kept = {record.body["n"] for record in store.all("thing")}
    asyncio.run(store.close())
    assert set(answered) <= kept
    assert len(kept) <= len(answered) + 1


def test_a_state_of_an_older_program_is_taken_over(tmp_path: Path) -> None:
    for version in range(1, len(MIGRATIONS)):
        path = tmp_path / f"{version}.db"
        old = sqlite3.connect(path)
        for statement in [statement for migration in MIGRATIONS[:version] for statement in migration]:
            old.execute(statement)
        old.execute(f"PRAGMA user_version = {version}")
        old.execute("INSERT INTO record VALUES ('thing', '1', 'name', '{}', 'then')")
        old.execute("INSERT INTO secret VALUES ('ca', x'00')")
        old.commit()
        old.close()
        store = open_file(path)
        assert store.named("thing", "name") is not None
        assert store.secret("ca") is not None
        asyncio.run(store.close())


def newer(path: Path, by: int) -> None:
    """What a later program makes of a state: a column with a default, and a table."""
    asyncio.run(open_file(path).close())
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE record ADD COLUMN later TEXT NOT NULL DEFAULT 'x'")
        db.execute("CREATE TABLE later (name TEXT)")
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + by}")
        db.commit()


def test_a_state_that_is_newer_by_one_version_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    newer(path, by=1)
    for number in range(2):

        async def case(number: int = number) -> None:
            store = open_file(path)
            await store.put(Record("thing", f"{number}", {}, "then"))
            await store.close()

        asyncio.run(case())
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)
        assert db.execute("SELECT id, later FROM record").fetchall() == [("0", "x"), ("1", "x")]


def test_a_state_that_is_newer_by_two_versions_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    newer(path, by=2)
    with pytest.raises(UserError, match=r"^[^\n]+ this program knows 3 and can use 4: run a newer seamark$"):
        open_file(path)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("PRAGMA user_version = 2", "duplicate column name: version"),
        ("PRAGMA user_version = 0", "table record already exists"),
        ("DROP TABLE secret", "it has no table secret"),
        ("ALTER TABLE record DROP COLUMN version", "the table record has no column version"),
    ],
)
def test_a_state_that_is_half_migrated_is_refused_and_stays_as_it_is(tmp_path: Path, damage: str, words: str) -> None:
    path = tmp_path / "s.db"
    asyncio.run(open_file(path).close())
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute(damage)
        db.commit()
        before = list(db.iterdump())
    with pytest.raises(UserError, match="half migrated") as refusal:
        open_file(path)
    assert words in refusal.value.message
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert list(db.iterdump()) == before


def test_a_migration_that_breaks_off_leaves_the_old_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.db"
    asyncio.run(open_file(path).close())
    broken = ("CREATE TABLE more (name TEXT)", "CREATE TABLE record (name TEXT)")
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "MIGRATIONS", (*MIGRATIONS, broken))
        with pytest.raises(UserError, match="half migrated"):
            open_file(path)
    asyncio.run(open_file(path).close())
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'more'").fetchone() == (0,)


def test_a_file_that_is_no_state_is_told(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(UserError, match="is no state of an edge"):
        open_file(tmp_path / "s.db")


def test_a_file_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"can't be used: (Not a directory|File exists)"):
        open_file(tmp_path / "file" / "s.db")


def test_the_state_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    asyncio.run(open_file(tmp_path / "deep" / "s.db").close())
    assert (tmp_path / "deep" / "s.db").stat().st_mode & 0o077 == 0
