"""The state of an edge moves from a file into PostgreSQL and back; copies of both can be put back."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seamark_edge.store.opening import open_file
from seamark_edge.store.record import Record
from tests.edge.driving import connected
from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram
from tests.edge.services import dial, echo, eventually, service
from tests.postgres import PASSWORD, USER, PostgresServer

Start = Callable[[str], AgentProgram]


def seamark(*arguments: str, standard_input: bytes = b"", fails: bool = False) -> str:
    """What the command prints; in one line what is wrong."""
    done = subprocess.run(
        [sys.executable, "-m", "seamark", "edge", *arguments],
        input=standard_input,
        capture_output=True,
        env={**os.environ, "PGPASSWORD": PASSWORD},
        timeout=60,
        check=False,
    )
    assert done.returncode == (2 if fails else 0), done.stderr.decode()
    text = (done.stderr if fails else done.stdout).decode()
    assert PASSWORD not in text
    assert len(text.strip().splitlines()) == 1, text
    return text.strip()


def works(url: str) -> bool:
    with dial(url) as client:
        client.settimeout(5)
        client.sendall(b"fine")
        return client.recv(10) == b"fine"


def rows(file: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(file) as db:
        found = db.execute("SELECT kind, id, name, body, created FROM record ORDER BY kind, id").fetchall()
        found += db.execute("SELECT name, value FROM secret ORDER BY name").fetchall()
    db.close()
    return found


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    return postgres.url(postgres.database(), "")


def test_an_edge_goes_on_where_it_was_after_its_state_has_moved_into_a_database_and_back(
    own_edge: RunningEdge, database: str, agents: Start
) -> None:
    file = own_edge.state / "edge.db"
    with service(echo) as upstream:
        url = connected(agents, "seamark", own_edge).must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        assert "another edge runs" in seamark("migrate", "--from", str(file), "--to", database, fails=True)
        own_edge.stop()
        before = rows(file)
        moved = seamark("migrate", "--from", str(file), "--to", database)
        assert moved == f"{database}: {sum(len(row) == 5 for row in before)} records"
        own_edge._environment |= {"SEAMARK_EDGE_STORE": database, "PGPASSWORD": PASSWORD}
        file.unlink()
        own_edge.start()
        eventually(lambda: works(url), "the agent is back, at the same address")
        assert "another edge runs on" in seamark("migrate", "--from", database, "--to", str(file), fails=True)
        own_edge.stop()
        seamark("migrate", "--from", database, "--to", str(file))
        assert [row[:3] for row in rows(file)] == [row[:3] for row in before]
        own_edge._environment["SEAMARK_EDGE_STORE"] = ""
        own_edge.start()
        eventually(lambda: works(url), "the agent is back once more")


def test_a_state_that_is_there_is_replaced_on_demand_only_and_as_a_whole(tmp_path: Path, database: str) -> None:
    one, two, back = (f"{tmp_path}/{name}/edge.db" for name in ("one", "two", "back"))
    for file, count in ((one, 3), (two, 5)):
        prepare(Path(file), count)
    seamark("migrate", "--from", one, "--to", database)
    for target in (database, two):
        refused = seamark("migrate", "--from", one, "--to", target, fails=True)
        assert f"there is a state at {target}" in refused
        assert "--force" in refused
    assert len(rows(Path(two))) == 5
    seamark("migrate", "--from", two, "--to", database, "--force")
    seamark("migrate", "--from", database, "--to", back)
    assert rows(Path(back)) == rows(Path(two))


def test_what_can_not_be_moved_is_told_in_one_line(tmp_path: Path, database: str, postgres: PostgresServer) -> None:
    file, other = tmp_path / "edge.db", f"{database}x"
    assert "there is no state at" in seamark("migrate", "--from", str(file), "--to", database, fails=True)
    prepare(file, 2)
    with sqlite3.connect(file) as db:
        db.execute("UPDATE record SET body = 'no json' WHERE id = '0'")
    db.close()
    refused = subprocess.run(
        [sys.executable, "-m", "seamark", "edge", "migrate", "--from", str(file), "--to", database],
        capture_output=True,
        env={**os.environ, "PGPASSWORD": PASSWORD},
        check=False,
        text=True,
    )
    assert refused.returncode == 2
    assert f"1 records of {file} can't be read" in refused.stderr
    assert "does not exist" in seamark("migrate", "--from", other, "--to", f"{tmp_path}/new.db", fails=True)
    assert "mysql:// names no store" in seamark("migrate", "--from", "mysql://u@h/d", "--to", str(file), fails=True)
    assert "are the same" in seamark("migrate", "--from", str(file), "--to", str(file), fails=True)
    assert not (tmp_path / "new.db").exists()


def test_a_database_is_backed_up_while_its_edge_runs_and_restored_from_the_copy(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    database = postgres.url(postgres.database(), "")
    copy, password = tmp_path / "copy.db", tmp_path / "password"
    password.write_text(PASSWORD)
    edge = RunningEdge(tmp_path / "state", store=database, store_password_file=str(password))
    try:
        _, kept = edge.api("POST", "/reserved_domains", {"domain": "kept.example.test"})
        assert "records" in seamark("backup", "--store", database, "-o", str(copy))
        assert copy.stat().st_mode & 0o777 == 0o600
        assert "can't be written" in seamark("backup", "--store", database, "-o", str(copy), fails=True)
        edge.api("DELETE", f"/reserved_domains/{kept['id']}")
        edge.api("POST", "/reserved_domains", {"domain": "later.example.test"})
        assert "another edge runs on" in seamark("restore", "--store", database, "-i", str(copy), "--force", fails=True)
        edge.stop()
        assert "--force" in seamark("restore", "--store", database, "-i", str(copy), fails=True)
        assert USER in seamark("restore", "--store", database, "--force", standard_input=copy.read_bytes())
        edge.start()
        domains = edge.api("GET", "/reserved_domains")[1]["reserved_domains"]
        assert [domain["domain"] for domain in domains] == ["kept.example.test"]
    finally:
        edge.close()
    # The copy is a state of its own: a file that an edge may run on.
    file = tmp_path / "file" / "edge.db"
    seamark("restore", "--state", str(file), "-i", str(copy))
    assert rows(file) == rows(copy)


def prepare(file: Path, count: int) -> None:
    """A state of an edge with so many records and secrets."""

    async def made() -> None:
        store = open_file(file)
        store.keep_secret("ca", b"\x00\xff")
        for number in range(count - 1):
            await store.put(Record("thing", str(number), {"n": number}, "then", f"name-{number}"))
        await store.close()

    asyncio.run(made())
