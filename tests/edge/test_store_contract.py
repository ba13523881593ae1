"""What a store promises, the same for a file and for PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from seamark_edge.store.address import Address
from seamark_edge.store.database import NotWritten
from seamark_edge.store.opening import open_database, open_file
from seamark_edge.store.record import Record
from seamark_edge.store.store import Store
from seamark_runtime.errors import Conflict, Exists

Open = Callable[[], Awaitable[Store]]  # another store on the same state


@pytest.fixture(params=["sqlite", "postgresql"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    async def file() -> Store:
        return open_file(tmp_path / "s.db")

    if request.param == "sqlite":
        return file
    address: Address = request.getfixturevalue("postgres").address(request.getfixturevalue("postgres").database())
    return lambda: open_database(address, claims=False)


def thing(ident: str, name: str | None = None, **body: object) -> Record:
    return Record("thing", ident, body, "then", name)


def test_a_record_is_found_by_id_and_by_name_also_after_a_restart(opening: Open) -> None:
    async def case() -> None:
        store = await opening()
        await store.put(thing("1", "first", a=1))
        await store.put(thing("1", "renamed", a=2, text="\u0000 ü \U0001f600"))
        assert store.named("thing", "first") is None
        await store.close()
        again = await opening()
        found = again.named("thing", "renamed")
        assert found == thing("1", "renamed", a=2, text="\u0000 ü \U0001f600")
        await again.remove(found)
        assert list(again.all("thing")) == []
        await again.close()
        third = await opening()
        assert list(third.all("thing")) == []
        await third.close()

    asyncio.run(case())


def test_secrets_are_there_after_a_restart(opening: Open) -> None:
    async def case() -> None:
        store = await opening()
        assert store.secret("ca") is None
        store.keep_secret("ca", b"\x00\xff")
        assert store.secret("ca") == b"\x00\xff"
        await store.settle()
        store.keep_secret("ca", b"second")
        await store.close()
        again = await opening()
        assert again.secret("ca") == b"second"
        await again.close()

    asyncio.run(case())


def test_a_taken_name_is_refused_before_anything_happens(opening: Open) -> None:
    async def case() -> None:
        store = await opening()
        await store.put(thing("1", "name"))
        with pytest.raises(Exists):
            await store.put(thing("2", "name"))
        await store.put(Record("other", "2", {}, "then", "name"))
        assert store.get("thing", "2") is None
        await store.close()

    asyncio.run(case())


def test_of_two_stores_that_race_for_a_name_exactly_one_wins_and_the_other_is_refused(opening: Open) -> None:
    """Neither knows of the other's record: the constraint of the database decides."""

    async def case() -> None:
        one, two = await opening(), await opening()
        for number in range(20):
            name = f"name-{number}"
            outcomes = await asyncio.gather(
                one.put(thing(f"a{number}", name)), two.put(thing(f"b{number}", name)), return_exceptions=True
            )
            refused = [isinstance(outcome, Exists) for outcome in outcomes]
            assert sorted(refused) == [False, True], outcomes
            winner, loser = (two, one) if refused[0] else (one, two)
            won, known = winner.named("thing", name), loser.named("thing", name)
            assert won is not None
            assert known == won  # the loser knows by now whose it is
        await one.close()
        await two.close()
        third = await opening()
        assert len(list(third.all("thing"))) == 20
        await third.close()

    asyncio.run(case())


def test_of_two_stores_that_race_for_a_key_exactly_one_wins_and_the_other_is_refused(opening: Open) -> None:
    async def case() -> None:
        one, two = await opening(), await opening()
        outcomes = await asyncio.gather(
            one.put(thing("tcp://edge:20000", owner="a")),
            two.put(thing("tcp://edge:20000", owner="b")),
            return_exceptions=True,
        )
        assert sorted(isinstance(outcome, Exists) for outcome in outcomes) == [False, True]
        assert one.get("thing", "tcp://edge:20000") == two.get("thing", "tcp://edge:20000")
        await one.close()
        await two.close()

    asyncio.run(case())


def test_a_change_of_what_another_store_has_changed_is_refused_and_the_others_is_known(opening: Open) -> None:
    async def case() -> None:
        one = await opening()
        await one.put(thing("1", a=1))
        two = await opening()
        await one.put(thing("1", a=2))
        with pytest.raises(Conflict):
            await two.put(thing("1", a=3))
        assert two.get("thing", "1") == thing("1", a=2)
        await two.put(thing("1", a=3))
        with pytest.raises(Conflict):
            await one.remove(thing("1"))
        assert one.get("thing", "1") == thing("1", a=3)
        await one.remove(thing("1"))
        await two.remove(thing("1"))  # gone is gone
        await one.close()
        await two.close()

    asyncio.run(case())


def test_a_change_that_can_not_be_written_fails_alone(opening: Open) -> None:
    async def case() -> None:
        store = await opening()
        records = [thing(f"{number}") for number in range(5)]
        records[3] = Record("thing", "3", {}, None)  # type: ignore[arg-type]  # the column takes no NULL
        outcomes = await asyncio.gather(*map(store.put, records), return_exceptions=True)
        assert [isinstance(outcome, NotWritten) for outcome in outcomes] == [False] * 3 + [True, False]
        assert store.get("thing", "3") is None
        assert not store.problem
        await store.close()
        again = await opening()
        assert sorted(record.id for record in again.all("thing")) == ["0", "1", "2", "4"]
        await again.close()

    asyncio.run(case())


def test_changes_of_one_record_take_effect_in_their_order(opening: Open) -> None:
    async def case() -> None:
        store = await opening()
        changes = [store.put(thing("1", "name", n=number)) for number in range(10)]
        await asyncio.gather(*changes, store.remove(thing("1")), store.put(thing("2", "name")))
        assert store.get("thing", "1") is None
        await store.close()
        again = await opening()
        assert [record.id for record in again.all("thing")] == ["2"]
        await again.close()

    asyncio.run(case())


def test_changes_that_nobody_waited_for_are_written_when_the_store_is_closed(opening: Open) -> None:
    async def case() -> None:
        store = await opening()
        tasks = [asyncio.ensure_future(store.put(thing(f"{number}"))) for number in range(20)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await store.close()
        again = await opening()
        assert len(list(again.all("thing"))) == 20
        await again.close()

    asyncio.run(case())


def test_ten_thousand_records_at_once_are_all_there(opening: Open) -> None:
    async def case() -> None:
        store = await opening()
        await asyncio.gather(*(store.put(thing(f"{number}", f"name-{number}")) for number in range(10_000)))
        await store.close()
        again = await opening()
        assert len(list(again.all("thing"))) == 10_000
        await again.close()

    asyncio.run(case())
