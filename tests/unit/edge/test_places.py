"""Free addresses: few looks where most are free, and none overlooked where few are."""

from __future__ import annotations

import asyncio
from pathlib import Path

from seamark.edge.places import Places
from seamark.edge.registry import Registry
from seamark.edge.settings import EdgeSettings
from seamark.edge.store import Store
from seamark.edge.urls import parse_url


def test_the_last_free_address_of_a_crowded_range_is_found(tmp_path: Path) -> None:
    settings = EdgeSettings(state=str(tmp_path), tcp_ports="20000-20199", lease_seconds=600)

    async def case() -> None:
        store = Store(tmp_path / "s.db")
        places = Places(settings, store, Registry())
        assert len(places.pick_ports(1)) == 1
        assert len({url.port for url in places.pick_ports()}) == 100
        for port in range(20000, 20199):
            await places.lease(parse_url(f"tcp://127.0.0.1:{port}"), "cr_1")
        assert [url.port for url in places.pick_ports()] == [20199]
        await places.lease(parse_url("tcp://127.0.0.1:20199"), "cr_1")
        assert places.pick_ports() == []
        store.close()

    asyncio.run(case())
