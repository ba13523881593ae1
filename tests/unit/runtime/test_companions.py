"""What a family needs beside its workers runs while this process leads, and no longer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from tests.greetings import greeting_controller
from tests.virtual_time import CLOCK, run


def test_a_companion_of_several_controllers_runs_once_and_ends_with_the_operator() -> None:
    told: list[str] = []

    async def companion() -> None:
        told.append("began")
        try:
            await asyncio.Event().wait()
        finally:
            told.append("ended")

    async def test() -> None:
        declared = [replace(greeting_controller(), name=name, companions=(companion,)) for name in ("one", "two")]
        transport = EmbeddedTransport(Store(clock=CLOCK, chance=Random(1)))
        operator = Operator(World(transport, CLOCK, Random(1)), declared, Settings(leader_election=False))
        assert told == []
        running = asyncio.ensure_future(operator.run())
        await asyncio.sleep(1)
        assert told == ["began"]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert told == ["began", "ended"]

    run(test())
