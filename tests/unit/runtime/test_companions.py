"""What a family needs beside its workers runs while this process leads; what lasts, until another process leads."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.api.coordination import Lease
from seamark_runtime.api.meta import Key
from seamark_runtime.client import Client
from seamark_runtime.controller import Companion
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError
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
        companions = (Companion(companion),)
        declared = [replace(greeting_controller(), name=name, companions=companions) for name in ("one", "two")]
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


class Cut(EmbeddedTransport):
    """Nothing is answered while it is cut."""

    cut = False

    async def send(self, request: HttpRequest) -> Answer:
        if self.cut:
            raise NoAnswerError("no route to host", sent=False)
        return await super().send(request)


def test_what_lasts_goes_on_between_terms_and_ends_when_another_process_leads_and_with_the_operator() -> None:
    events: list[str] = []

    def companion(name: str, *, lasting: bool = False) -> Companion:
        async def work() -> None:
            events.append(f"{name} began")
            try:
                await asyncio.Event().wait()
            finally:
                events.append(f"{name} ended")

        return Companion(work, lasting)

    async def test() -> None:
        declared = replace(greeting_controller(), companions=(companion("term"), companion("lasting", lasting=True)))
        store = Store(clock=CLOCK, chance=Random(1))
        settings = Settings(namespace="default", lease_duration=15)
        ways = [Cut(store), Cut(store)]
        one, two = (
            Operator(World(way, CLOCK, Random(1), name), (declared,), settings)
            for way, name in zip(ways, ("one", "two"), strict=True)
        )

        def happened() -> list[str]:
            found = events.copy()
            events.clear()
            return found

        first = asyncio.ensure_future(one.run())
        await asyncio.sleep(10)
        assert sorted(happened()) == ["lasting began", "term began"]
        ways[0].cut = True
        await asyncio.sleep(60)
        assert happened() == ["term ended"]  # nobody leads: it goes on
        ways[0].cut = False
        await asyncio.sleep(10)
        assert happened() == ["term began"]
        ways[0].cut = True
        second = asyncio.ensure_future(two.run())
        await asyncio.sleep(60)
        assert sorted(happened()) == ["lasting began", "term began", "term ended"]  # the first can't know
        ways[0].cut = False
        await asyncio.sleep(10)
        assert happened() == ["lasting ended"]
        for running, expected in ((first, []), (second, ["term ended", "lasting ended"])):
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            assert happened() == expected

    run(test())


def test_a_lease_that_is_given_away_within_its_deadline_ends_what_lasts_until_it_is_ours_again() -> None:
    events: list[str] = []

    async def work() -> None:
        events.append("began")
        try:
            await asyncio.Event().wait()
        finally:
            events.append("ended")

    async def test() -> None:
        transport = EmbeddedTransport(Store(clock=CLOCK, chance=Random(1)))
        settings = Settings(namespace="default", lease_duration=15)
        declared = replace(greeting_controller(), companions=(Companion(work, lasting=True),))
        operator = Operator(World(transport, CLOCK, Random(1), "one"), (declared,), settings)
        running = asyncio.ensure_future(operator.run())
        await asyncio.sleep(5.5)
        editor = Client(transport, manager="editor")
        spec = {"holderIdentity": "two", "leaseDurationSeconds": 15}
        await editor.merge_patch(Lease, Key("default", settings.lease), {"spec": spec})
        await asyncio.sleep(7)
        assert events == ["began", "ended"]
        await asyncio.sleep(60)
        assert events == ["began", "ended", "began"]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run(test())
