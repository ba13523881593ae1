"""An edge whose state can't be written: what is reserved is served, what is new is refused, nothing is half done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from seamark_edge.edge.credentials import TOKEN
from seamark_edge.edge.errors import AWAY, store_away
from seamark_edge.edge.places import LEASE
from seamark_edge.edge.registry import Entry
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.edge.urls import parse_url
from seamark_edge.process.server import Edge
from seamark_edge.rest.endpoints import Endpoints
from seamark_edge.rest.reserved import ReservedDomains
from seamark_edge.store.database import DatabaseAway
from seamark_edge.store.record import Record
from seamark_edge.store.sqlite import SqliteDatabase
from seamark_edge.store.store import Store
from seamark_runtime.errors import UserError
from tests.edge.services import free_port

HOLDER, OTHER = "cr_holder", "cr_other"


class World:
    """An edge on a file whose disk can be full."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self._database = SqliteDatabase(folder / "s.db")
        low = free_port(2)
        given = EdgeSettings(state=str(folder / "s.db"), tcp_ports=f"{low}-{low + 1}", **settings)
        self.edge = Edge(given, Store(self._database, self._database.contents()))
        self.store = self.edge.store
        self.places = self.edge.places
        self.urls = [parse_url(f"tcp://127.0.0.1:{port}") for port in given.tcp_range]

    def full(self, full: bool = True) -> None:
        self._database._db.execute(f"PRAGMA query_only = {'ON' if full else 'OFF'}")

    async def find_out(self) -> None:
        self.full()
        await refused(self.store.put(Record("thing", "1", {}, "")))
        assert "readonly" in self.store.problem

    async def recovered(self) -> None:
        self.full(False)
        while self.store.problem:
            await asyncio.sleep(0.01)


def in_world(folder: Path, case: Callable[[World], Awaitable[None]], **settings: Any) -> None:
    async def run() -> None:
        world = World(folder, **settings)
        for credential in (HOLDER, OTHER):
            await world.store.put(Record(TOKEN, credential, {}, ""))
        await case(world)
        await world.edge.stop()

    asyncio.run(run())


async def refused(change: Awaitable[object]) -> None:
    with pytest.raises(DatabaseAway, match="readonly") as refusal:
        await change
    answer = store_away(refusal.value)
    assert (answer.status, answer.name, answer.message) == (503, "ERR_NGROK_8503", AWAY)


def test_a_place_that_an_agent_had_is_given_to_it_also_after_its_time_and_to_no_other(tmp_path: Path) -> None:
    async def case(world: World) -> None:
        url, other = world.urls
        await world.places.lease(url, HOLDER)
        await world.places.unlease(url)  # and its time is over at once
        await world.find_out()
        await world.places.sweep()
        assert world.store.get(LEASE, url.key) is not None
        world.places.check(url, HOLDER)
        await world.places.lease(url, HOLDER)
        for place, credential in ((url, OTHER), (other, HOLDER)):
            with pytest.raises(DatabaseAway):
                world.places.check(place, credential)
        with pytest.raises(DatabaseAway):
            world.places.pick_ports(1)
        assert world.store.owed == 1
        await world.recovered()
        assert world.store.owed == 0
        world.places.check(other, OTHER)

    in_world(tmp_path, case, lease_seconds=0)


def test_a_place_whose_reservation_could_not_be_written_is_free_again(tmp_path: Path) -> None:
    async def case(world: World) -> None:
        world.full()
        for url in world.urls:
            entry = Entry(id=url.key, url=url, binding="public", created="", credential=HOLDER)
            world.edge.registry.add(entry)
            await refused(world.places.lease(url, HOLDER))
            world.edge.sessions.take_offline(entry)
            await world.edge.sessions.settle()
        await world.recovered()
        assert len(world.places.pick_ports(2)) == 2

    in_world(tmp_path, case)


@pytest.mark.parametrize("known", [True, False], ids=["known to be full", "found to be full"])
def test_a_change_of_an_endpoint_that_can_not_be_written_leaves_it_as_it_was(tmp_path: Path, known: bool) -> None:
    async def case(world: World) -> None:
        endpoints = Endpoints(world.edge.office)
        first, second = world.urls
        made = await endpoints.create({"url": str(first)})
        world.full()
        if known:
            await world.find_out()
        for change in (
            endpoints.update(made["id"], {"url": str(second), "description": "moved"}),
            endpoints.create({"url": str(second)}),
            endpoints.delete(made["id"]),
        ):
            await refused(change)
            if not known:
                await world.recovered()
                world.full()
            assert [entry.url for entry in world.edge.registry.entries.values()] == [first]
            assert endpoints.view(made["id"])["description"] == ""
            assert set(world.edge.ports._servers) == {first.port}
        await world.recovered()
        await endpoints.update(made["id"], {"url": str(second)})
        assert set(world.edge.ports._servers) == {second.port}
        await endpoints.delete(made["id"])
        assert world.edge.registry.entries == {}

    in_world(tmp_path, case)


def test_a_reservation_is_refused_once_and_made_afterwards(tmp_path: Path) -> None:
    async def case(world: World) -> None:
        domains = ReservedDomains(world.edge.office)
        world.full()
        await refused(domains.create({"domain": "shop.example.test"}))
        await world.recovered()
        assert domains.ids() == []
        await domains.create({"domain": "shop.example.test"})
        assert len(domains.ids()) == 1

    in_world(tmp_path, case)


def test_an_edge_whose_directory_can_not_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"can't be used: (Not a directory|File exists)"):
        Edge(EdgeSettings(state=str(tmp_path / "file" / "edge.db")))
