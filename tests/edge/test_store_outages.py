"""The database goes away and comes back: what is in use is never forgotten, what was refused never happened."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from seamark_edge.store import postgres as driver
from seamark_edge.store import store as stores
from seamark_edge.store.address import Address
from seamark_edge.store.database import DatabaseAway
from seamark_edge.store.opening import open_database
from seamark_edge.store.record import Key, Record
from seamark_edge.store.store import Store
from tests.postgres import PostgresServer


def thing(ident: str, name: str | None = None, **body: object) -> Record:
    return Record("thing", ident, body, "then", name)


def bodies(store: Store) -> dict[str, dict[str, object]]:
    return {record.id: record.body for record in store.all("thing")}


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def in_outage(
    server: PostgresServer, before: Callable[[Store], Awaitable[None]], during: Callable[[Store], Awaitable[None]]
) -> dict[str, dict[str, object]]:
    """What the database has at the end."""
    name = server.database()

    async def case() -> dict[str, dict[str, object]]:
        store = await open_database(server.address(name))
        await before(store)
        server.kill()
        try:
            await during(store)
        finally:
            server.start()
        await until(lambda: not store.problem)
        assert store.owed == 0
        here = bodies(store)
        await store.close()
        again = await open_database(server.address(name))
        there = bodies(again)
        await again.close()
        assert there == here
        return there

    return asyncio.run(case())


async def refused(change: Awaitable[object]) -> DatabaseAway:
    with pytest.raises(DatabaseAway) as refusal:
        await change
    return refusal.value


def test_while_the_server_is_down_the_new_is_refused_and_what_is_in_use_stays(postgres: PostgresServer) -> None:
    async def before(store: Store) -> None:
        await store.put(thing("kept", "name", n=1))
        await store.put(thing("other"))

    async def during(store: Store) -> None:
        await refused(store.put(thing("new")))
        await until(lambda: store.problem)
        began = time.monotonic()
        for _ in range(100):
            assert not (await refused(store.put(thing("new")))).uncertain
            await refused(store.remove(thing("other")))
        assert time.monotonic() - began < 1  # at once: nobody waits for a database that is known to be away
        assert store.get("thing", "new") is None
        await store.keep(thing("kept", "name", n=2))
        await store.keep(thing("kept", "name", n=3))
        await store.keep(thing("also", n=4))
        assert bodies(store) == {"kept": {"n": 3}, "other": {}, "also": {"n": 4}}
        assert store.owed == 2

    assert in_outage(postgres, before, during) == {"kept": {"n": 3}, "other": {}, "also": {"n": 4}}


def test_an_outage_is_found_before_somebody_needs_the_database(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "CHECK_SECONDS", 0.05)

    async def before(store: Store) -> None:
        await store.put(thing("1"))

    async def during(store: Store) -> None:
        watching = asyncio.create_task(store.watch())
        await until(lambda: store.problem)
        watching.cancel()

    assert in_outage(postgres, before, during) == {"1": {}}


def test_a_server_that_does_not_answer_is_away_and_what_it_did_unseen_is_undone(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(driver, "CONNECT_SECONDS", 0.5)
    name = postgres.database()

    async def case() -> None:
        store = await open_database(postgres.address(name))
        await store.put(thing("1", n=1))
        postgres.signal_all(signal.SIGSTOP)
        try:
            began = time.monotonic()
            answers = await asyncio.gather(
                refused(store.put(thing("1", n=2))), refused(store.put(thing("new"))), store.keep(thing("used", n=5))
            )
            assert time.monotonic() - began < 5
            # It had not answered: it may have done it.
            assert [answer.uncertain for answer in answers[:2] if answer] == [True, True]
            assert bodies(store) == {"1": {"n": 1}, "used": {"n": 5}}
        finally:
            postgres.signal_all(signal.SIGCONT)
        await until(lambda: not store.problem)
        await store.put(thing("after"))
        await store.close()
        again = await open_database(postgres.address(name))
        assert bodies(again) == {"1": {"n": 1}, "used": {"n": 5}, "after": {}}
        await again.close()

    asyncio.run(case())


def test_a_database_that_is_restored_from_an_older_copy_gets_back_what_it_forgot(postgres: PostgresServer) -> None:
    name = postgres.database()

    async def case() -> None:
        store = await open_database(postgres.address(name))
        store.keep_secret("bind-tokens", b"secret")
        await store.settle()
        for ident in ("same", "changed", "revoked"):
            await store.put(thing(ident, ident, n=1))
        copy = postgres.run("pg_dump", "--clean", "--if-exists", "-d", postgres.url(name))
        await store.put(thing("changed", "renamed", n=2))
        await store.remove(thing("revoked"))
        await store.put(thing("new", "changed", n=3))  # by the name that another one had in the copy
        (postgres.directory / "copy.sql").write_text(copy)
        postgres.kill()
        postgres.start()
        await asyncio.to_thread(postgres.run, "psql", "-q", "-d", postgres.url(name), "-f", "copy.sql")
        await store.keep(thing("kept", n=4))
        await until(lambda: not store.problem and not store.owed)
        expected = {"same": {"n": 1}, "changed": {"n": 2}, "new": {"n": 3}, "kept": {"n": 4}}
        assert bodies(store) == expected
        await store.put(thing("after"))
        await store.put(thing("same", "same", n=5))
        await store.close()
        again = await open_database(postgres.address(name))
        assert bodies(again) == {**expected, "same": {"n": 5}, "after": {}}
        assert again.secret("bind-tokens") == b"secret"
        await again.close()

    asyncio.run(case())


def test_what_another_edge_did_meanwhile_is_taken_over_and_not_overwritten(postgres: PostgresServer) -> None:
    name = postgres.database()

    async def case() -> None:
        store = await open_database(postgres.address(name))
        elsewhere: list[tuple[list[Record], list[Key]]] = []
        store.changed_elsewhere = lambda added, gone: elsewhere.append((added, gone))
        for ident in ("theirs", "gone", "ours"):
            await store.put(thing(ident, n=1))
        postgres.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        other = await open_database(postgres.address(name))  # it has the claim now
        await refused(store.put(thing("refused")))
        await store.keep(thing("theirs", n=2))
        await store.keep(thing("ours", n=2))
        await until(lambda: "another edge runs on" in store.problem)
        await other.put(thing("theirs", n=9))
        await other.put(thing("added", n=9))
        await other.remove(thing("gone"))
        await other.close()
        await until(lambda: not store.problem)
        expected = {"theirs": {"n": 9}, "added": {"n": 9}, "ours": {"n": 2}}
        assert bodies(store) == expected
        assert [({record.id for record in added}, gone) for added, gone in elsewhere] == [
            ({"theirs", "added"}, [Key("thing", "gone")])
        ]
        await store.close()
        again = await open_database(postgres.address(name))
        assert bodies(again) == expected
        await again.close()

    asyncio.run(case())


def test_a_server_that_can_only_be_read_is_an_outage_until_it_can_be_written(postgres: PostgresServer) -> None:
    """After a failover to a standby, or where its disk is full."""
    name = postgres.database()

    async def case() -> None:
        store = await open_database(postgres.address(name))
        await store.put(thing("1", n=1))
        postgres.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        postgres.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        await refused(store.put(thing("2")))
        await until(lambda: "read-only transaction" in store.problem)
        await store.keep(thing("1", n=2))
        await asyncio.sleep(1)
        assert "read-only transaction" in store.problem  # that it can be read ends nothing
        postgres.sql(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        await until(lambda: not store.problem)
        await store.put(thing("2"))
        assert bodies(store) == {"1": {"n": 2}, "2": {}}
        await store.close()

    asyncio.run(case())


def test_a_password_that_was_exchanged_is_taken_from_its_file(postgres: PostgresServer, tmp_path: Path) -> None:
    name, file = postgres.database(), tmp_path / "password"
    postgres.sql(f"CREATE USER owner PASSWORD 'first'; ALTER DATABASE {name} OWNER TO owner")
    file.write_text("first")

    async def case() -> None:
        address = Address(f"postgresql://owner@127.0.0.1:{postgres.port}/{name}", str(file))
        store = await open_database(address)
        postgres.sql("ALTER USER owner PASSWORD 'second'")
        await store.put(thing("1"))  # a connection that is open stays
        postgres.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        await refused(store.put(thing("2")))
        await until(lambda: "password authentication failed" in store.problem)
        file.write_text("second")
        await until(lambda: not store.problem)
        await store.put(thing("2"))
        await store.close()

    asyncio.run(case())


def test_the_end_of_the_process_does_not_wait_for_a_database_that_is_away(postgres: PostgresServer) -> None:
    name = postgres.database()

    async def case() -> None:
        store = await open_database(postgres.address(name))
        postgres.kill()
        await store.keep(thing("1"))
        began = time.monotonic()
        await store.close()
        assert time.monotonic() - began < 5

    try:
        asyncio.run(case())
    finally:
        postgres.start()
