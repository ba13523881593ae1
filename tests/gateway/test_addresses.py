"""Two Gateways of this machine that want the same address, with real Envoys: one gets it and is served, alone."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from seamark_edge.dataplane.envoy import binary
from seamark_edge.dataplane.envoy.local import LocalEnvoys
from seamark_edge.dataplane.model import Snapshot
from seamark_edge.dataplane.protocol import Rejected, Served
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry
from tests.gateway.test_envoy import GATEWAY, PATIENCE, Scene, backend, text, with_envoy
from tests.gateway.whole import Whole, whole

OTHER = Key("elsewhere", "web")


def programmed(scene: Whole, namespace: str, name: str) -> dict[str, Any]:
    found = scene.store.get(str(Gateway.RESOURCE), namespace, name) or {}
    conditions = (found.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == "Programmed"), {})


def test_an_address_that_two_gateways_name_is_the_older_ones_and_no_request_goes_astray() -> None:
    async def test(scene: Whole) -> None:
        scene.route("hello")
        await scene.served()
        await scene.answers_so("/", 200)
        listener = {"name": "http", "port": 8080, "protocol": "HTTP"}
        addresses = [{"type": "IPAddress", "value": scene.address}]
        spec = {"gatewayClassName": "kgateway", "listeners": [listener], "addresses": addresses}
        scene.edit(Gateway, "gateway", {"spec": {"addresses": addresses}})
        scene.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
        scene.apply("Gateway", "thief", spec, metadata={"namespace": "elsewhere"})  # no route: it answers 404
        await scene.until(lambda: bool(programmed(scene, "elsewhere", "thief")), "it is told")
        said = programmed(scene, "elsewhere", "thief")
        assert (said["status"], said["reason"]) == ("False", "AddressNotUsable")
        assert scene.address in said["message"]
        assert "default" not in said["message"]
        assert [await scene.answers("/") for _ in range(40)] == [(200, "web")] * 40
        assert scene.gateway()["status"] == "True"

    whole(test)


def test_no_two_envoys_bind_one_address() -> None:
    """Whatever the family says: the second waits until the first has gone."""

    async def test(scene: Scene) -> None:
        assert await scene.program(scene.snapshot(("/", "one"))) == Served(1)
        theirs = scene.snapshot(("/", "two"))
        with pytest.raises(Retry, match=f"{scene.address} is still in use by another Gateway"):
            await scene.plane.program(OTHER, theirs)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
            assert [await text(session, scene.url("/")) for _ in range(40)] == [(200, "one")] * 40
            await scene.plane.remove(GATEWAY)
            assert await programmed_in_time(scene.plane, OTHER, theirs) == Served(1)
            assert await text(session, scene.url("/")) == (200, "two")

    with_envoy(test)


def test_two_gateways_that_swap_their_addresses_are_both_served() -> None:
    async def test(scene: Scene) -> None:
        there = replace(scene, address=f"127.0.{random.randint(100, 250)}.{random.randint(1, 250)}")
        one, two = scene.snapshot(("/", "one")), there.snapshot(("/", "two"))
        assert await scene.program(one) == Served(1)
        assert await programmed_in_time(scene.plane, OTHER, two) == Served(1)
        here, back = replace(two, listeners=one.listeners), replace(one, listeners=two.listeners)
        both = programmed_in_time(scene.plane, OTHER, here), programmed_in_time(scene.plane, GATEWAY, back)
        assert list(await asyncio.gather(*both)) == [Served(1), Served(1)]
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
            assert [await text(session, scene.url("/")) for _ in range(20)] == [(200, "two")] * 20
            assert [await text(session, there.url("/")) for _ in range(20)] == [(200, "one")] * 20

    with_envoy(test)


async def programmed_in_time(plane: LocalEnvoys, gateway: Key, snapshot: Snapshot) -> object:
    """As the runtime does it: what fails is tried again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                outcome = await plane.program(gateway, snapshot)
            except Retry:
                outcome = None
            if outcome is not None and not isinstance(outcome, Rejected):
                return outcome
            await asyncio.sleep(0.5)


def test_a_gateway_with_the_longest_of_names_is_served() -> None:
    async def story() -> None:
        plane = LocalEnvoys(binary.install())
        running = asyncio.ensure_future(plane.run())
        address = f"127.0.{random.randint(100, 250)}.{random.randint(1, 250)}"
        try:
            async with backend("one") as one:
                scene = Scene(plane, address, {"one": one})
                longest = Key("n" * 63, "g" * 253)
                assert await programmed_in_time(plane, longest, scene.snapshot(("/", "one"))) == Served(1)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(story())
