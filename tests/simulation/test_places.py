"""Whose a place is, over replacements and restarts, in virtual time: places rules 11 and 13."""

from __future__ import annotations

import asyncio

import pytest

from seamark.providers.edge.calls import Kind
from tests.simulation.loadbalancer.acts import AGENTS, CLOUDS, DOMAINS, patch
from tests.simulation.loadbalancer.scenario import LoadBalancerScenario
from tests.simulation.test_loadbalancer import told
from tests.simulation.world import World

HOST = "aep.example.test"
VICTIM, ATTACKER = "tenant-b", "tenant-a"


def endpoint(world: World, namespace: str, url: str = f"https://{HOST}") -> None:
    if world.store.get("namespaces", "", namespace) is None:
        world.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    world.store.create(
        {
            "apiVersion": "ngrok.k8s.ngrok.com/v1alpha1",
            "kind": "AgentEndpoint",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {"url": url, "upstream": {"url": "tcp://web:80"}},
        }
    )


def reason(world: World, namespace: str) -> str:
    found = world.store.get(AGENTS, namespace, "web")
    assert found is not None
    conditions = found.get("status", {}).get("conditions", ())
    return next((one["reason"] for one in conditions if one["type"] == "EndpointCreated"), "")


def reserved(world: World) -> list[str]:
    """The namespaces whose Domain the edge has reserved."""
    domains = world.store.objects(DOMAINS)
    return [one["metadata"]["namespace"] for one in domains if one.get("status", {}).get("id")]


async def both(world: World) -> None:
    for namespace in (VICTIM, ATTACKER):
        endpoint(world, namespace)
        await asyncio.sleep(900)
    assert (reason(world, ATTACKER), reserved(world)) == ("Taken", [VICTIM])


@pytest.mark.parametrize("restart", [False, True])
def test_who_was_refused_waits_for_a_hold_time_after_the_place_was_given_up(restart: bool) -> None:
    async def story(world: World, _scenario: LoadBalancerScenario) -> None:
        await both(world)
        world.store.delete(AGENTS, VICTIM, "web")
        if restart:
            world.restart_operator()
        for _ in range(55):
            await asyncio.sleep(10)
            assert (reason(world, ATTACKER), ATTACKER in reserved(world)) == ("Taken", False)
        await asyncio.sleep(900)
        assert reason(world, ATTACKER) != "Taken"
        assert reserved(world) == [ATTACKER]

    told(story)


@pytest.mark.parametrize("seconds", [0, 1, 500])
@pytest.mark.parametrize("restart", [False, True])
def test_an_endpoint_that_is_replaced_has_its_place_again(seconds: int, restart: bool) -> None:
    async def story(world: World, _scenario: LoadBalancerScenario) -> None:
        await both(world)
        world.store.delete(AGENTS, VICTIM, "web")
        if restart:
            world.restart_operator()
        await asyncio.sleep(seconds)
        endpoint(world, VICTIM)
        await asyncio.sleep(2000)
        assert (reason(world, ATTACKER), reserved(world)) == ("Taken", [VICTIM])
        assert reason(world, VICTIM) != "Taken"

    told(story)


def test_a_place_that_nobody_claims_any_more_is_kept_from_who_comes_later() -> None:
    async def story(world: World, _scenario: LoadBalancerScenario) -> None:
        endpoint(world, VICTIM)
        await asyncio.sleep(900)
        world.store.delete(AGENTS, VICTIM, "web")
        await asyncio.sleep(60)
        endpoint(world, ATTACKER)
        await asyncio.sleep(400)
        assert (reason(world, ATTACKER), reserved(world)) == ("Taken", [])
        await asyncio.sleep(900)
        assert reason(world, ATTACKER) != "Taken"

    told(story)


INTERNAL = "tcp://db.internal:5432"


def forwarding(world: World, namespace: str) -> None:
    forward = {"actions": [{"type": "forward-internal", "config": {"url": INTERNAL}}]}
    world.store.create(
        {
            "apiVersion": "ngrok.k8s.ngrok.com/v1alpha1",
            "kind": "CloudEndpoint",
            "metadata": {"name": "front", "namespace": namespace},
            "spec": {"url": "tcp://front.internal:1", "trafficPolicy": {"inline": {"on_tcp_connect": [forward]}}},
        }
    )


def created(world: World) -> str:
    found = world.store.get(CLOUDS, ATTACKER, "front")
    assert found is not None
    conditions = found.get("status", {}).get("conditions", ())
    return next((one["reason"] for one in conditions if one["type"] == "CloudEndpointCreated"), "")


@pytest.mark.parametrize("broken", [False, True], ids=["with its policy", "with a policy that is broken meanwhile"])
def test_a_forward_to_a_place_that_gets_another_owner_is_closed_at_the_edge(broken: bool) -> None:
    """Rule 13: while a later policy is bad, the last good one is in force."""

    async def story(world: World, _scenario: LoadBalancerScenario) -> None:
        endpoint(world, ATTACKER)
        forwarding(world, ATTACKER)
        await asyncio.sleep(900)
        assert (created(world), len(world.outside.there(Kind.ENDPOINTS))) == ("CloudEndpointCreated", 1)
        if broken:
            path = f"/apis/ngrok.k8s.ngrok.com/v1alpha1/namespaces/{ATTACKER}/cloudendpoints/front"
            patch(world, path, {"spec": {"trafficPolicy": {"inline": {"on_tcp_connect": 7}}}})
            await asyncio.sleep(60)
            assert len(world.outside.there(Kind.ENDPOINTS)) == 1
        endpoint(world, VICTIM, INTERNAL)
        await asyncio.sleep(900)
        assert (created(world), world.outside.there(Kind.ENDPOINTS)) == ("ForwardNotAllowed", [])

    told(story)
