"""Families that run apart each have a Lease of their own, so that none waits for another's."""

from __future__ import annotations

import asyncio
from random import Random

from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.leader import Leader
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from tests.virtual_time import CLOCK, run


async def leads(leader: Leader | None) -> bool:
    assert leader is not None
    try:
        async with asyncio.timeout(60):
            await leader.gained()
    except TimeoutError:
        return False
    return True


def test_two_operators_lead_at_once_if_their_leases_have_different_names() -> None:
    async def leading(*leases: str) -> list[bool]:
        store = Store(clock=CLOCK, chance=Random(1))
        store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "home"}})
        settings = [Settings(namespace="home", lease=lease) for lease in leases]
        worlds = [World(EmbeddedTransport(store), CLOCK, Random(n), f"operator-{n}") for n in range(len(leases))]
        operators = [Operator(world, [], one) for world, one in zip(worlds, settings, strict=True)]
        running = [asyncio.create_task(operator.run()) for operator in operators]
        found = await asyncio.gather(*(leads(operator.leader) for operator in operators))
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return list(found)

    async def test() -> None:
        assert await leading("one", "two") == [True, True]
        assert sorted(await leading("one", "one")) == [False, True]

    run(test())
