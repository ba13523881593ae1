"""An operator without its Lease: local Envoys serve on until it leads again, and end when another process leads."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from random import Random

import aiohttp

from seamark.families.gateway.family import TRAFFIC_POLICY, controllers
from seamark.families.gateway.model.options import Options
from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_edge.dataplane.envoy import binary
from seamark_edge.dataplane.envoy.local import LocalEnvoys
from seamark_runtime.api.coordination import Lease
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.clock import SystemClock
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError, Stream
from tests.gateway.test_envoy import backend, envoys
from tests.gateway.whole import PATIENCE, Whole, prepare
from tests.simulation.gateway import KINDS

SETTINGS = Settings(
    leader_election=True, lease_duration=2.0, namespace="default", health_address="", stop_grace=0, single_reads=1
)
OUTAGE = 4.0  # seconds, longer than the Lease


class Cut:
    """A way to the API server on which nothing is answered while it is cut."""

    def __init__(self, store: Store) -> None:
        self.cut = False
        self._inner = EmbeddedTransport(store)

    async def send(self, request: HttpRequest) -> Answer:
        if self.cut:
            await asyncio.sleep(0.5)
            raise NoAnswerError("no answer in time")
        return await self._inner.send(request)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[Stream]:
        if self.cut:
            raise NoAnswerError("no answer in time")
        return self._inner.stream(request)

    async def close(self) -> None:
        """Nothing to release."""


@dataclass
class Standby:
    scene: Whole
    way: Cut
    operator: Operator
    answers: dict[str, int] = field(default_factory=dict)  # of a client that makes a connection for every request

    @property
    def leads(self) -> bool:
        return self.operator.metrics.registry.get_sample_value("seamark_leader") == 1

    async def programmed(self) -> None:
        await self.scene.served()
        self.scene.route("hello")
        await self.scene.answers_so("/", 200)

    async def lose(self) -> None:
        self.way.cut = True
        await self.scene.until(lambda: not self.leads, "it stands by")

    async def regain(self) -> None:
        self.way.cut = False
        await self.scene.until(lambda: self.leads, "it leads again")

    async def refused_no_more(self) -> None:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            try:
                assert await self.scene.answers("/") == (200, "web")
                return
            except aiohttp.ClientConnectionError:
                assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.05)

    async def client(self) -> None:
        url = f"http://{self.scene.address}:8080/"
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
            while True:
                try:
                    async with session.get(url) as response:
                        what = str(response.status)
                except aiohttp.ClientError as error:
                    what = type(error).__name__
                self.answers[what] = self.answers.get(what, 0) + 1
                await asyncio.sleep(0.01)


def standby(test: Callable[[Standby], Awaitable[None]]) -> None:
    async def story() -> None:
        store = Store(clock=SystemClock(), chance=Random(1))
        for kind in KINDS:
            store.create(CRD(kind=kind).manifest())
        store.create(TRAFFIC_POLICY.manifest())
        options = Options(addresses=(f"127.0.{random.randint(100, 250)}.0/24",), counting=0.1)
        way = Cut(store)
        declared = controllers(options, LocalEnvoys(binary.install()))
        operator = Operator(World(way, SystemClock(), Random(1), "one"), declared, SETTINGS)
        running = asyncio.ensure_future(operator.run())
        try:
            async with backend("web") as port:
                scene = Whole(store, port)
                prepare(scene, {"name": "http", "port": 8080, "protocol": "HTTP"})
                await test(Standby(scene, way, operator))
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            assert envoys() == []

    asyncio.run(story())


def test_no_client_is_refused_while_the_lease_is_lost_and_regained() -> None:
    async def test(at: Standby) -> None:
        await at.programmed()
        before = envoys()
        client = asyncio.ensure_future(at.client())
        await at.lose()
        await asyncio.sleep(OUTAGE)
        at.scene.route("later", matches=[{"path": {"value": "/later"}}])
        await at.regain()
        await at.scene.until(lambda: at.scene.condition("later").get("status") == "True", "the new route is accepted")
        await at.scene.answers_so("/later", 200)
        await at.scene.served()
        client.cancel()
        await asyncio.gather(client, return_exceptions=True)
        assert set(at.answers) == {"200"}, at.answers
        assert at.answers["200"] > OUTAGE * 10
        assert envoys() == before

    standby(test)


def test_a_gateway_deleted_meanwhile_is_served_no_longer_than_until_the_next_term() -> None:
    async def test(at: Standby) -> None:
        await at.programmed()
        await at.lose()
        at.scene.store.delete(str(Gateway.RESOURCE), "default", "gateway")
        await asyncio.sleep(0.5)
        assert len(envoys()) == 1
        await at.regain()
        await at.scene.until(lambda: envoys() == [], "its Envoy ends")

    standby(test)


def test_envoys_end_when_another_process_leads_and_are_started_anew_in_the_next_term() -> None:
    async def test(at: Standby) -> None:
        await at.programmed()
        [before] = envoys()
        await at.lose()
        name = SETTINGS.lease
        at.scene.edit(Lease, name, {"spec": {"holderIdentity": "another"}})
        assert envoys() == [before]
        at.way.cut = False
        await at.scene.until(lambda: envoys() == [], "they end")
        assert not at.leads
        at.scene.edit(Lease, name, {"spec": {"holderIdentity": ""}})
        await at.regain()
        await at.scene.until(lambda: len(envoys()) == 1, "it has an Envoy again")
        await at.scene.served()
        await at.refused_no_more()

    standby(test)
