"""Kept names and addresses: how many, and which are given up first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from seamark_edge.edge.credentials import TOKEN
from seamark_edge.edge.places import LEASE, Places
from seamark_edge.edge.registry import Entry, Registry
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.edge.urls import EndpointUrl, parse_url
from seamark_edge.process.server import Edge
from seamark_edge.rest.reserved import ReservedAddrs
from seamark_edge.store.opening import open_file
from seamark_edge.store.record import Record

HOLDER, OTHER = "cr_holder", "cr_other"


class World:
    """Places whose agents come and go."""

    def __init__(self, folder: Path, **settings: object) -> None:
        text = {"state": str(folder), "http_port": 80, "lease_seconds": 600, **settings}
        self.settings = EdgeSettings(**text)  # type: ignore[arg-type]  # each test names fields of its own
        self.store, self.registry = open_file(folder / "s.db"), Registry()
        self.places = Places(self.settings, self.store, self.registry)
        self._entries: dict[str, Entry] = {}

    async def online(self, url: EndpointUrl, credential: str = HOLDER) -> None:
        entry = Entry(id=url.key, url=url, binding="public", created="", credential=credential)
        self._entries[url.key] = entry
        self.registry.add(entry)
        await self.places.lease(url, credential)

    async def offline(self, url: EndpointUrl) -> None:
        self.registry.remove(self._entries[url.key])
        await self.places.unlease(url)

    async def churn(self, urls: Sequence[EndpointUrl]) -> None:
        """One endpoint at a time."""
        for url in urls:
            await self.online(url)
            await self.offline(url)

    def kept(self, urls: Sequence[EndpointUrl]) -> list[EndpointUrl]:
        return [url for url in urls if self.places.kept_for_another(url.key, OTHER)]


def hosts(count: int) -> list[EndpointUrl]:
    return [parse_url(f"http://n{number}.edge.localhost") for number in range(count)]


def in_world(
    folder: Path, token: dict[str, object], case: Callable[[World], Awaitable[None]], **settings: object
) -> None:
    async def run() -> None:
        world = World(folder, **settings)
        await world.store.put(Record(TOKEN, HOLDER, token, ""))
        await world.store.put(Record(TOKEN, OTHER, {}, ""))
        await case(world)
        await world.store.close()

    asyncio.run(run())


@pytest.mark.parametrize(("token", "most"), [({"max_endpoints": 3}, 3), ({}, 32)])
def test_one_endpoint_at_a_time_keeps_few_names(tmp_path: Path, token: dict[str, object], most: int) -> None:
    async def case(world: World) -> None:
        urls = hosts(200)
        await world.churn(urls)
        assert world.kept(urls) == urls[-most:]
        await world.places.sweep()
        assert len(list(world.store.all(LEASE))) == most

    in_world(tmp_path, token, case)


def test_endpoints_online_and_kept_are_no_more_than_the_limit_together(tmp_path: Path) -> None:
    async def case(world: World) -> None:
        first, second, third, fourth = urls = hosts(4)
        await world.churn([first, second])
        await world.online(third)
        assert world.kept(urls) == [first, second]
        await world.online(fourth)
        assert world.kept(urls) == [second]
        await world.online(second)  # its own again
        assert world.kept(urls) == []
        await world.offline(third)
        assert world.kept(urls) == [third]

    in_world(tmp_path, {"max_endpoints": 3}, case)


def test_everything_that_was_online_at_once_is_kept_also_over_a_restart(tmp_path: Path) -> None:
    async def case(world: World) -> None:
        urls = hosts(50)
        for url in urls:
            await world.online(url)
        again = Places(world.settings, world.store, Registry())  # the edge ended without a word
        assert all(again.kept_for_another(url.key, OTHER) for url in urls)
        for url in urls:
            await world.offline(url)
        assert world.kept(urls) == urls
        more = [parse_url(f"http://m{number}.edge.localhost") for number in range(50)]
        await world.churn(more)
        assert len(world.kept(urls + more)) == 50

    in_world(tmp_path, {}, case)


def test_a_kept_address_is_given_up_when_no_other_is_free_the_oldest_first(tmp_path: Path) -> None:
    addresses = [parse_url(f"tcp://127.0.0.1:{port}") for port in (20002, 20000, 20001)]

    async def case(world: World) -> None:
        await world.churn(addresses[:2])
        assert world.places.pick_ports() == addresses[2:]
        await world.churn(addresses[2:])
        assert world.places.pick_ports() == addresses
        await world.online(addresses[0], OTHER)
        assert world.places.pick_ports() == addresses[1:]
        await world.offline(addresses[0])
        assert world.kept(addresses) == addresses[1:]
        for url in addresses:
            await world.online(url)
        assert world.places.pick_ports() == []

    in_world(tmp_path, {}, case, tcp_ports="20000-20002")


def test_a_kept_address_can_be_reserved_and_is_its_former_owners_no_more(tmp_path: Path) -> None:
    url = parse_url("tcp://127.0.0.1:20000")

    async def case() -> None:
        edge = Edge(EdgeSettings(state=str(tmp_path / "s.db"), tcp_ports="20000-20000"))
        for ident in (HOLDER, OTHER):
            await edge.store.put(Record(TOKEN, ident, {}, ""))
        await edge.places.lease(url, HOLDER)
        await edge.places.unlease(url)
        assert edge.places.kept_for_another(url.key, OTHER)
        assert (await ReservedAddrs(edge.office).create({}))["addr"] == url.hostport
        edge.places.check(url, OTHER)
        await edge.stop()

    asyncio.run(case())
