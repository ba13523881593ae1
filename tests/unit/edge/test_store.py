"""The state: what was answered is there again, whatever happened in between."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from seamark_edge.edge.store import MIGRATIONS, Record, Store, migrate
from seamark_runtime.errors import Exists, UserError

WRITER = """
import asyncio, sys
from pathlib import Path
from seamark_edge.edge.store import Record, Store

async def main():
    store = Store(Path(sys.argv[1]))
    for number in range(100000):
        await store.put(Record("thing", f"{number:06}", {"n": number}, "now", f"name-{number}"))
        print(number, flush=True)

asyncio.run(main())
"""


def test_a_record_is_found_by_id_and_by_name_and_is_there_after_a_restart(tmp_path: Path) -> None:
    async def case() -> None:
        store = Store(tmp_path / "s.db")
        await store.put(Record("thing", "1", {"a": 1}, "then", "first"))
        await store.put(Record("thing", "1", {"a": 2}, "then", "renamed"))
        assert store.named("thing", "first") is None
        store.close()
        again = Store(tmp_path / "s.db")
        found = again.named("thing", "renamed")
        assert found is not None
        assert (found.id, found.body, found.created) == ("1", {"a": 2}, "then")
        await again.remove(found)
        assert list(again.all("thing")) == []
        again.close()

    asyncio.run(case())


def test_changes_that_arrive_together_share_a_transaction(tmp_path: Path) -> None:
    async def case() -> None:
        store, statements = Store(tmp_path / "s.db"), list[str]()
        store._db.set_trace_callback(statements.append)
        await asyncio.gather(*(store.put(Record("thing", f"{n}", {}, "then")) for n in range(100)))
        assert statements.count("COMMIT") <= 3
        store.close()
        assert len(list(Store(tmp_path / "s.db").all("thing"))) == 100

    asyncio.run(case())


def test_a_change_that_can_not_be_written_fails_alone(tmp_path: Path) -> None:
    async def case() -> None:
        store = Store(tmp_path / "s.db")
        records = [Record("thing", f"{n}", {}, "then") for n in range(5)]
        records[3] = Record("thing", "3", {}, None)  # type: ignore[arg-type]  # the column takes no NULL
        outcomes = await asyncio.gather(*map(store.put, records), return_exceptions=True)
        assert [isinstance(outcome, sqlite3.IntegrityError) for outcome in outcomes] == [False] * 3 + [True, False]
        assert store.get("thing", "3") is None
        store.close()
        assert sorted(record.id for record in Store(tmp_path / "s.db").all("thing")) == ["0", "1", "2", "4"]

    asyncio.run(case())


def test_changes_that_nobody_waited_for_are_written_when_the_store_is_closed(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.db")

    async def case() -> None:
        tasks = [asyncio.ensure_future(store.put(Record("thing", f"{n}", {}, "then"))) for n in range(20)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()

    asyncio.run(case())
    store.close()
    assert len(list(Store(tmp_path / "s.db").all("thing"))) == 20


def test_a_taken_name_is_refused_before_anything_happens(tmp_path: Path) -> None:
    async def case() -> None:
        store = Store(tmp_path / "s.db")
        await store.put(Record("thing", "1", {}, "then", "name"))
        with pytest.raises(Exists):
            await store.put(Record("thing", "2", {}, "then", "name"))
        await store.put(Record("other", "2", {}, "then", "name"))
        assert store.get("thing", "2") is None
        store.close()

    asyncio.run(case())


def test_a_write_that_fails_is_undone_in_memory(tmp_path: Path) -> None:
    async def case() -> None:
        store = Store(tmp_path / "s.db")
        await store.put(Record("thing", "1", {"a": 1}, "then", "name"))
        store._db.execute("PRAGMA query_only = ON")
        with pytest.raises(sqlite3.Error):
            await store.put(Record("thing", "1", {"a": 2}, "then", "other"))
        with pytest.raises(sqlite3.Error):
            await store.remove(Record("thing", "1", {"a": 1}, "then", "name"))
        found = store.named("thing", "name")
        assert found is not None
        assert found.body == {"a": 1}
        store.close()

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
    store = Store(path)
    kept = {record.body["n"] for record in store.all("thing")}
    store.close()
    assert set(answered) <= kept
    assert len(kept) <= len(answered) + 1


def test_an_older_state_is_brought_up_to_date_and_a_newer_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    old = sqlite3.connect(path)
    old.executescript(f"BEGIN; {MIGRATIONS[0]} PRAGMA user_version = 1; COMMIT;")
    old.execute("INSERT INTO record VALUES ('thing', '1', 'name', '{}', 'then')")
    old.commit()
    old.close()
    store = Store(path)
    assert store.named("thing", "name") is not None
    store.close()
    new = sqlite3.connect(path)
    new.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(UserError, match="newer"):
        migrate(new)
    new.close()


def test_a_file_that_is_no_state_is_told(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(UserError, match="is no state of an edge"):
        Store(tmp_path / "s.db")


def test_the_state_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    Store(tmp_path / "deep" / "s.db").close()
    assert (tmp_path / "deep" / "s.db").stat().st_mode & 0o077 == 0
