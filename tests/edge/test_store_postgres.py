"""A state in PostgreSQL: its versions, its claim, its errors, and what is counted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.store.address import Address
from seamark_edge.store.opening import open_database
from seamark_edge.store.record import Record
from seamark_runtime.errors import UserError
from tests.edge.tls import pair
from tests.postgres import PASSWORD, USER, PostgresServer, postgres_server


def record(ident: str, **body: object) -> Record:
    return Record("thing", ident, body, "then")


async def made(address: Address) -> None:
    await (await open_database(address)).close()


def refusal(address: Address) -> str:
    """Why the database can't be opened: one line, without the password."""
    with pytest.raises(UserError) as refused:
        asyncio.run(made(address))
    message = refused.value.message
    assert "\n" not in message
    assert PASSWORD not in message
    return message


def test_a_second_edge_on_one_database_is_refused_until_the_first_one_ends(postgres: PostgresServer) -> None:
    address = postgres.address(postgres.database())

    async def case() -> None:
        first = await open_database(address)
        with pytest.raises(UserError, match=f"^another edge runs on postgresql://{USER}@127.0.0.1:"):
            await open_database(address)
        await first.close()
        await made(address)

    asyncio.run(case())


def test_edges_in_two_schemas_of_one_database_do_not_meet(postgres: PostgresServer) -> None:
    name = postgres.database()
    postgres.sql("CREATE SCHEMA other", name)

    async def case() -> None:
        first = await open_database(postgres.address(name))
        await first.put(record("1"))
        other = await open_database(Address(f"{postgres.url(name)}?search_path=other"))
        assert list(other.all("thing")) == []
        await first.close()
        await other.close()

    asyncio.run(case())


def test_a_wrong_password_is_one_line_without_the_password(postgres: PostgresServer) -> None:
    name = postgres.database()
    shown = f"postgresql://{USER}@127.0.0.1:{postgres.port}/{name}"
    assert refusal(Address(postgres.url(name, "wrong"))) == (
        f'{shown} can\'t be used: password authentication failed for user "{USER}"'
    )


def test_a_database_that_is_not_there_is_one_line(postgres: PostgresServer) -> None:
    assert 'database "nowhere" does not exist' in refusal(postgres.address("nowhere"))


def test_a_default_schema_that_is_not_there_is_one_line(postgres: PostgresServer) -> None:
    url = f"{postgres.url(postgres.database())}?search_path=nowhere"
    assert refusal(Address(url)).endswith("has no default schema: create the one that is named")


def test_a_user_without_the_right_to_make_tables_is_one_line(postgres: PostgresServer) -> None:
    name = postgres.database()
    postgres.sql("CREATE USER guest PASSWORD 'guest'", name)
    url = f"postgresql://guest:guest@127.0.0.1:{postgres.port}/{name}"
    assert refusal(Address(url)).endswith("can't be used: permission denied for schema public")


def test_a_server_that_is_not_there_is_one_line() -> None:
    assert "can't be used: " in refusal(Address(f"postgresql://{USER}@127.0.0.1:1/edge"))


@pytest.mark.parametrize(
    "url", ["postgresql://u:{0}@host:port/edge", "postgresql://u:{0}@[::1/edge", "postgres://u:{0}@h/e?sslmode=maybe"]
)
def test_a_url_that_is_none_is_told_without_its_password(url: str) -> None:
    message = refusal(Address(url.format("verysecret")))
    assert "is no URL of a database" in message
    assert "verysecret" not in message


def test_the_store_of_the_settings_is_a_url_or_nothing() -> None:
    assert EdgeSettings().database is None
    for text in ("mysql://u:verysecret@host/edge", "edge.db", "u:verysecret@host"):
        with pytest.raises(UserError, match="postgresql://user@host:port/database") as refused:
            assert EdgeSettings(store=text).database
        assert "verysecret" not in refused.value.message
    address = EdgeSettings(store="postgresql://u:verysecret@host/edge?password=verysecret").database
    assert str(address) == "postgresql://u@host/edge"
    assert "verysecret" not in repr(address)


def test_the_password_is_that_of_a_file_of_pgpassword_or_of_pgpassfile(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = postgres.database()
    without = Address(postgres.url(name, ""))
    given, passfile = tmp_path / "password", tmp_path / "pgpass"
    given.write_text(PASSWORD + "\n")
    passfile.write_text(f"127.0.0.1:{postgres.port}:*:{USER}:{PASSWORD}\n")
    passfile.chmod(0o600)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    refusal(without)
    asyncio.run(made(Address(without.url, str(given))))
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSWORD", PASSWORD)
        asyncio.run(made(without))
    monkeypatch.setenv("PGPASSFILE", str(passfile))
    asyncio.run(made(without))
    assert "can't be read: No such file" in refusal(Address(without.url, str(tmp_path / "nowhere")))


def test_the_servers_certificate_is_verified_where_the_url_asks_for_it(tmp_path: Path) -> None:
    other = tmp_path / "other.crt"
    other.write_bytes(pair("127.0.0.1")[0])
    with postgres_server() as server:
        url = f"{server.url(server.database())}?sslmode=verify-full"
        assert "SSL" in refusal(Address(f"{url}&sslrootcert={other}"))  # the server has no TLS yet
        trusted = server.serve_tls(*pair("127.0.0.1"))
        asyncio.run(made(Address(f"{url}&sslrootcert={trusted}")))
        assert "certificate verify failed" in refusal(Address(f"{url}&sslrootcert={other}"))
        refusal(Address(f"{url}&sslrootcert={tmp_path / 'nowhere'}"))


def test_a_schema_that_is_newer_by_one_version_is_used_and_by_two_refused(postgres: PostgresServer) -> None:
    name = postgres.database()
    address = postgres.address(name)
    asyncio.run(made(address))
    postgres.sql(
        "ALTER TABLE seamark_edge_record ADD COLUMN later text NOT NULL DEFAULT 'x';"
        "CREATE TABLE seamark_edge_later (name text); UPDATE seamark_edge_schema SET version = version + 1",
        name,
    )

    async def case() -> None:
        store = await open_database(address)
        await store.put(record("1"))
        await store.close()

    asyncio.run(case())
    assert postgres.sql("SELECT id, later FROM seamark_edge_record", name) == "1|x\n"
    assert postgres.sql("SELECT version FROM seamark_edge_schema", name) == "2\n"
    postgres.sql("UPDATE seamark_edge_schema SET version = version + 1", name)
    assert refusal(address).endswith("has schema version 3, this program knows 1 and can use 2: run a newer seamark")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("ALTER TABLE seamark_edge_record DROP COLUMN version", "has no column version"),
        ("DROP TABLE seamark_edge_secret", "it has no table seamark_edge_secret"),
        ("DROP TABLE seamark_edge_schema", "already exists"),
        ("DELETE FROM seamark_edge_schema", "already exists"),
    ],
)
def test_a_schema_that_is_half_migrated_is_refused_and_stays_as_it_is(
    postgres: PostgresServer, damage: str, words: str
) -> None:
    name = postgres.database()
    asyncio.run(made(postgres.address(name)))
    postgres.sql(damage, name)
    columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1"
    before = postgres.sql(columns, name)
    message = refusal(postgres.address(name))
    assert "is half migrated" in message
    assert words in message
    assert postgres.sql(columns, name) == before


def test_two_edges_that_start_together_on_an_empty_database_make_one_schema(postgres: PostgresServer) -> None:
    address = postgres.address(postgres.database())

    async def case() -> None:
        stores = await asyncio.gather(*(open_database(address, claims=False) for _ in range(5)))
        await asyncio.gather(*(store.put(record(f"{number}")) for number, store in enumerate(stores)))
        await asyncio.gather(*(store.close() for store in stores))

    asyncio.run(case())


def test_a_change_is_one_statement_and_changes_that_arrive_together_are_one(postgres: PostgresServer) -> None:
    name = postgres.database()

    async def case() -> None:
        store = await open_database(postgres.address(name))
        connection = store._database._connection  # type: ignore[attr-defined]  # counted where they are sent
        sent: list[str] = []
        connection.add_query_logger(lambda query: sent.append(query.query))
        await store.put(record("1"))
        assert len(sent) == 1
        await store.put(record("1", changed=True))
        assert len(sent) == 2
        await store.remove(record("1"))
        assert len(sent) == 3
        await asyncio.gather(*(store.put(record(f"{number}")) for number in range(100)))
        assert len(sent) == 4
        await store.close()

    asyncio.run(case())
