"""A copy of the state can be taken while the edge runs, and put back; and an edge uses what it is given."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seamark_edge.edge.credentials import KEY, TOKEN
from seamark_edge.edge.ids import digest
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.process.backup import back_up, put_back, records
from seamark_edge.process.server import Edge
from seamark_edge.store.record import Record
from seamark_edge.store.sqlite import MIGRATIONS
from seamark_runtime.errors import UserError
from seamark_runtime.signing import make_authority
from tests.edge.services import free_port


def an_edge(state: Path, given: str = "") -> Edge:
    return Edge(EdgeSettings(state=str(state), given=given, agent_port=free_port(), api_port=free_port()))


def a_record(number: int) -> Record:
    return Record("domain", f"rd_{number}", {"domain": f"{number}.example.com"}, "2026-01-01T00:00:00Z")


def test_a_running_edge_is_copied_and_brought_back_as_it_was(tmp_path: Path) -> None:
    state, copy, other = tmp_path / "one" / "edge.db", tmp_path / "copy.db", tmp_path / "two" / "edge.db"

    async def case() -> bytes:
        edge = an_edge(state)
        await edge.start()
        for number in range(50):
            await edge.store.put(a_record(number))
        back_up(state, copy)
        await edge.store.put(a_record(50))  # after the copy
        with pytest.raises(UserError, match="another edge runs"):
            put_back(copy, state, force=True)
        await edge.stop()
        return edge.authority.ca_pem

    ca = asyncio.run(case())
    assert copy.stat().st_mode & 0o777 == 0o600
    assert records(copy) == 52  # with the first token and key
    put_back(copy, other)
    restored = an_edge(other)
    assert {one.id for one in restored.store.all("domain")} == {f"rd_{number}" for number in range(50)}
    assert restored.authority.ca_pem == ca
    asyncio.run(restored.stop())


def test_a_state_that_is_there_is_replaced_on_demand_only(tmp_path: Path) -> None:
    state, copy = tmp_path / "edge.db", tmp_path / "copy.db"
    edge = an_edge(state)
    asyncio.run(edge.stop())
    back_up(state, copy)
    with pytest.raises(UserError, match="--force"):
        put_back(copy, state)
    put_back(copy, state, force=True)
    with pytest.raises(UserError, match="can't be written"):
        back_up(state, copy)  # never over another copy


def test_what_is_no_state_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    state, copy = tmp_path / "edge.db", tmp_path / "copy.db"
    copy.write_text("not a database at all, but long enough to look like a file" * 20)
    with pytest.raises(UserError, match="is no state of an edge"):
        put_back(copy, state)
    copy.unlink()
    with sqlite3.connect(copy) as db:
        db.execute("CREATE TABLE record (id TEXT)")
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 2}")
    with pytest.raises(UserError, match="this program knows"):
        put_back(copy, state)
    with pytest.raises(UserError, match="there is no file"):
        put_back(tmp_path / "nowhere", state)
    with pytest.raises(UserError, match="there is no state"):
        back_up(state, tmp_path / "other")
    assert not state.exists()


def test_an_edge_uses_the_authority_and_secrets_that_it_is_given(tmp_path: Path) -> None:
    given, state = tmp_path / "given", tmp_path / "state" / "edge.db"
    given.mkdir()
    for name, content in make_authority(datetime.now(UTC)).items():
        (given / name).write_bytes(content)
    (given / "agent-token").write_text("a-token-of-ours")
    (given / "api-key").write_text("a-key-of-ours\n")

    async def case() -> Edge:
        edge = an_edge(state, str(given))
        await edge.start()
        await edge.stop()
        return edge

    edge = asyncio.run(case())
    assert edge.authority.ca_pem == (given / "ca.crt").read_bytes()
    assert edge.store.named(TOKEN, digest("a-token-of-ours"))
    assert edge.store.named(KEY, digest("a-key-of-ours"))
    assert not list(state.parent.glob("a*-*"))  # what was given lies nowhere else
    renewed = make_authority(datetime.now(UTC))
    for name, content in renewed.items():
        (given / name).write_bytes(content)
    assert asyncio.run(case()).authority.ca_pem == renewed["ca.crt"]
