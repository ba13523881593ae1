"""Free addresses, and places that are kept for those who had them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from seamark_edge.edge.credentials import TOKEN
from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.places import LEASE, Places
from seamark_edge.edge.registry import Entry, Registry
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.edge.urls import SHARED_PORT, parse_url
from seamark_edge.store.opening import open_file
from seamark_edge.store.record import Record


def test_the_last_free_address_of_a_crowded_range_is_found(tmp_path: Path) -> None:
    settings = EdgeSettings(state=str(tmp_path), tcp_ports="20000-20199", lease_seconds=600)

    async def case() -> None:
        store = open_file(tmp_path / "s.db")
        places = Places(settings, store, Registry())
        assert len(places.pick_ports(1)) == 1
        assert len({url.port for url in places.pick_ports()}) == 100
        for port in range(20000, 20199):
            await places.lease(parse_url(f"tcp://127.0.0.1:{port}"), "cr_1")
        assert [url.port for url in places.pick_ports()] == [20199]
        await places.lease(parse_url("tcp://127.0.0.1:20199"), "cr_1")
        assert places.pick_ports() == []
        await store.close()

    asyncio.run(case())


def test_a_place_is_kept_for_the_credentials_that_had_it_also_over_a_restart(tmp_path: Path) -> None:
    settings = EdgeSettings(state=str(tmp_path), http_port=80, tls_port=443, lease_seconds=600)
    https, *others = [parse_url(f"{scheme}://shop.edge.localhost") for scheme in ("https", "tls", "http")]

    async def case() -> None:
        store = open_file(tmp_path / "s.db")
        for ident in ("cr_a", "cr_b"):
            await store.put(Record(TOKEN, ident, {}, ""))
        first = Places(settings, store, Registry())
        await first.lease(https, "cr_a")
        await first.unlease(https)
        for places in (first, Places(settings, store, Registry())):
            for url in (https, *others):
                with pytest.raises(Refusal, match="kept for an agent") as refusal:
                    places.check(url, "cr_b")
                assert refusal.value.code == 334
                places.check(url, "cr_a")
                places.check(url, "")  # the API decides about all names
        record = store.get(TOKEN, "cr_a")
        assert record is not None
        await store.remove(record)
        first.check(https, "cr_b")  # no agent can come back with a deleted authtoken
        await store.close()

    asyncio.run(case())


def test_a_pool_of_several_credentials_is_kept_for_all_of_them(tmp_path: Path) -> None:
    url = parse_url("https://pool.edge.localhost")

    async def case() -> None:
        store, registry = open_file(tmp_path / "s.db"), Registry()
        places = Places(EdgeSettings(state=str(tmp_path), tls_port=443), store, registry)
        entries = []
        for ident in ("cr_a", "cr_b", "cr_c"):
            await store.put(Record(TOKEN, ident, {}, ""))
        for ident in ("cr_a", "cr_b"):
            entries.append(Entry(id=ident, url=url, binding="public", created="", credential=ident, pooling=True))
            registry.add(entries[-1])
            await places.lease(url, ident)
        for entry in entries:
            registry.remove(entry)
        await places.unlease(url)
        places.check(url, "cr_a")
        places.check(url, "cr_b")
        with pytest.raises(Refusal, match="kept"):
            places.check(url, "cr_c")
        await store.close()

    asyncio.run(case())


def test_of_one_credential_only_the_latest_places_are_kept(tmp_path: Path) -> None:
    async def case() -> None:
        store = open_file(tmp_path / "s.db")
        for ident in ("cr_a", "cr_b"):
            await store.put(Record(TOKEN, ident, {}, ""))
        places = Places(EdgeSettings(state=str(tmp_path), http_port=80, endpoints_per_token=3), store, Registry())
        urls = [parse_url(f"http://n{number}.edge.localhost") for number in range(5)]
        for url in urls:
            await places.lease(url, "cr_a")
            await places.unlease(url)
        kept = [places.kept_for_another(url.key, "cr_b") for url in urls]
        assert kept == [False, False, True, True, True]
        await places.sweep()
        assert len(list(store.all(LEASE))) == 3
        await store.close()

    asyncio.run(case())


@pytest.mark.parametrize("scheme", ["https", "tls", "http"])
def test_a_wildcard_gets_no_connections_of_a_name_that_is_kept_for_another(tmp_path: Path, scheme: str) -> None:
    name = parse_url(f"{scheme}://shop.edge.localhost")
    wildcard = parse_url("tls://*.edge.localhost")

    async def case() -> None:
        store, registry = open_file(tmp_path / "s.db"), Registry()
        await store.put(Record(TOKEN, "cr_a", {}, ""))
        places = Places(EdgeSettings(state=str(tmp_path), http_port=80, tls_port=443), store, registry)
        registry.add(Entry(id="ep_1", url=wildcard, binding="public", created="", credential="cr_b"))
        assert registry.find_host(SHARED_PORT, name.host, 443) is not None
        await places.lease(name, "cr_a")
        await places.unlease(name)
        assert registry.find_host(SHARED_PORT, name.host, 443) is None
        assert registry.find_host(SHARED_PORT, "other.edge.localhost", 443) is not None
        await store.close()

    asyncio.run(case())


def test_a_host_below_the_wildcard_of_another_authtoken_is_refused(tmp_path: Path) -> None:
    wildcard, before = parse_url("tls://*.wild.edge.localhost"), parse_url("https://before.wild.edge.localhost")

    async def case() -> None:
        store, registry = open_file(tmp_path / "s.db"), Registry()
        for ident in ("cr_owner", "cr_first", "cr_other"):
            await store.put(Record(TOKEN, ident, {}, ""))
        places = Places(EdgeSettings(state=str(tmp_path), http_port=80, tls_port=443), store, registry)
        await places.lease(before, "cr_first")
        await places.unlease(before)
        entry = Entry(id="ep_1", url=wildcard, binding="public", created="", credential="cr_owner")
        registry.add(entry)
        await places.lease(wildcard, "cr_owner")
        for online in (True, False):
            for host in (f"{scheme}://c.wild.edge.localhost" for scheme in ("tls", "https", "http")):
                with pytest.raises(Refusal, match="below a wildcard that is in use by another agent") as refusal:
                    places.check(parse_url(host), "cr_other")
                assert (refusal.value.code, "cr_owner" in refusal.value.message) == (334, False)
                places.check(parse_url(host), "cr_owner")
                places.check(parse_url(host), "")  # the API decides about all names
            places.check(before, "cr_first")
            for beside in ("https://wild.edge.localhost", "https://a.b.wild.edge.localhost"):
                places.check(parse_url(beside), "cr_other")
            if online:
                registry.remove(entry)
                await places.unlease(wildcard)
        await store.close()

    asyncio.run(case())


OWN = (
    "cname.edge.localhost",
    "4b0a4769460e915b52ae.cname.edge.localhost",
    "*.cname.edge.localhost",
    "*.edge.localhost",
)


@pytest.mark.parametrize("host", OWN)
@pytest.mark.parametrize("scheme", ["http", "https", "tls"])
def test_the_edge_keeps_cname_targets_and_the_wildcard_of_its_domain_for_itself(
    tmp_path: Path, scheme: str, host: str
) -> None:
    """Places rule 10."""
    store = open_file(tmp_path / "s.db")
    places = Places(EdgeSettings(state=str(tmp_path), tls_port=443), store, Registry())
    for credential in ("cr_a", ""):  # an agent's, and the API's
        with pytest.raises(Refusal, match="is kept by the edge for itself") as refusal:
            places.check(parse_url(f"{scheme}://{host}"), credential)
        assert (refusal.value.code, refusal.value.status) == (320, 403)
    for free in ("shop", "cname.shop", "*.shop", "xcname"):
        places.check(parse_url(f"{scheme}://{free}.edge.localhost"), "cr_a")
    asyncio.run(store.close())
