"""Load balancers on the deterministic loop: what no schedule of faults asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from seamark.providers.edge.calls import Kind
from seamark_edge.model import Owner
from tests.simulation import loop
from tests.simulation.invariants import conditions_of
from tests.simulation.loadbalancer.acts import AGENTS, CLOUDS, DOMAINS, SERVICES, STRATEGY, URL, annotate, patch, serve
from tests.simulation.loadbalancer.scenario import CUSTOM, TIMING, LoadBalancerScenario, ingress, services
from tests.simulation.runner import rest, set_up, simulate
from tests.simulation.schedules import Schedule
from tests.simulation.world import World

SHELF_LIFE = TIMING.shelf_life
FINALIZER = "k8s.ngrok.com/finalizer"


def told(story: Callable[[World, LoadBalancerScenario], Awaitable[None]]) -> None:
    """Runs a story in a world of its own."""
    set_up()

    async def program() -> None:
        scenario = LoadBalancerScenario()
        world = World(scenario, 0, ())
        world.install([crd.manifest() for crd in scenario.crds])
        world.live()
        try:
            await story(world, scenario)
        finally:
            await world.end()

    loop.run(program())


def marked(world: World) -> list[str]:
    kinds = (SERVICES, CLOUDS, DOMAINS)
    return [
        f"{kind} {obj['metadata']['name']}"
        for kind in kinds
        for obj in world.store.objects(kind)
        if FINALIZER in obj["metadata"].get("finalizers", ())
    ]


@pytest.mark.parametrize("fault", ["OUTSIDE_LOSES", "CRASH_AFTER", "HANG_AFTER", "OUTSIDE_HANGS"])
def test_an_address_is_never_leaked_or_reserved_twice_whatever_reply_is_lost(fault: str) -> None:
    """The first requests are those around a reservation; all others are in the attack of this family."""
    set_up()
    for number in range(1, 7):
        outcome = simulate(Schedule.parse(f"loadbalancer/0/calm/{number}:{fault}"))
        assert outcome.violation is None, "\n".join(outcome.story)


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_a_drain_strands_nobody(policy: Any) -> None:
    """Everything is released; at the edge all is deleted, or all stays and is found again by the next installation."""

    async def story(world: World, scenario: LoadBalancerScenario) -> None:
        serve(world, "tcp")
        serve(world, "web", {URL: f"tls://{CUSTOM}", STRATEGY: "endpoints-verbose"})
        own = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "CloudEndpoint"}
        theirs = {"metadata": {"name": "theirs", "namespace": "default"}, "spec": {"url": "tls://mine.edge.example"}}
        world.store.create({**own, **theirs})
        await rest(world)
        before = {service["metadata"]["name"]: ingress(service) for service in services(world)}
        scenario.options = replace(scenario.options, drain=policy)
        world.restart_operator()
        await asyncio.sleep(600)
        world.check()
        assert marked(world) == []
        there = [item for kind in (Kind.ADDRESSES, Kind.DOMAINS, Kind.ENDPOINTS) for item in world.outside.there(kind)]
        assert bool(there) == (policy == "Retain")
        if policy == "Retain":
            assert len(list(world.store.objects(AGENTS))) == 2  # and traffic flows on
        scenario.options = replace(scenario.options, drain="")
        world.restart_operator()
        await rest(world)
        after = {service["metadata"]["name"]: ingress(service) for service in services(world)}
        assert (after == before) == (policy == "Retain")
        addresses = [Owner.of(item["metadata"]) for item in world.outside.there(Kind.ADDRESSES)]
        assert len(addresses) == 1

    told(story)


def test_an_address_is_asked_for_once_whatever_is_asked_of_the_edge() -> None:
    """Failure 7 of others: no listing on every pass, no write that changes nothing, no second endpoint."""

    async def story(world: World, _scenario: LoadBalancerScenario) -> None:
        for number in range(20):
            serve(world, f"tcp{number}")
        await rest(world)
        made = list(world.outside.made)
        assert len(made) == 20
        requests, writes = world.outside.requests, len(world.writes)
        assert writes == 5 * 20
        await asyncio.sleep(3600)
        assert len(world.writes) == writes
        assert world.outside.made == made
        hour = world.outside.requests - requests
        assert hour <= 3600 / 100 * (2 + 20) + 3600 / 150 + 3, f"{hour} requests in an hour, for 20 Services"

    told(story)


@pytest.mark.parametrize("hangs", [False, True], ids=["refuses", "hangs"])
def test_an_outage_of_the_edge_removes_nothing_and_says_since_when(hangs: bool) -> None:
    """Longer than the shelf life, on both sides of a restart: addresses stay, conditions become Unknown, once."""

    async def story(world: World, _scenario: LoadBalancerScenario) -> None:
        serve(world, "tcp")
        serve(world, "web", {URL: f"tls://{CUSTOM}", STRATEGY: "endpoints-verbose"})
        serve(world, "own", {URL: "tls://own.edge.example"})
        await rest(world)
        before = {service["metadata"]["name"]: ingress(service) for service in services(world)}
        targets = [domain["status"].get("cnameTarget") for domain in world.store.objects(DOMAINS)]
        assert all(before.values())
        world.outside.fall_silent(4 * SHELF_LIFE, hangs=hangs)
        await asyncio.sleep(1.5 * SHELF_LIFE)
        world.restart_operator()
        await asyncio.sleep(1.5 * SHELF_LIFE)
        written = len(world.writes)
        await asyncio.sleep(0.9 * SHELF_LIFE)
        world.check()
        assert len(world.writes) == written  # messages stay the same between retries
        assert {service["metadata"]["name"]: ingress(service) for service in services(world)} == before
        assert [domain["status"].get("cnameTarget") for domain in world.store.objects(DOMAINS)] == targets
        for service in services(world):
            condition = conditions_of(service)["k8s.ngrok.com/AddressAssigned"]
            assert (condition["status"], condition["reason"]) == ("Unknown", "NotVerified")
            assert f"since {condition['lastTransitionTime']}" in condition["message"]
        for kind in (AGENTS, CLOUDS, DOMAINS):
            for obj in world.store.objects(kind):
                ready = conditions_of(obj)["Ready"]
                assert (ready["status"], ready["reason"]) == ("Unknown", "NotVerified")
                assert " since 2026-01-01T" in ready["message"]
        await rest(world)
        assert {service["metadata"]["name"]: ingress(service) for service in services(world)} == before

    told(story)


def test_a_cname_target_that_is_cleared_by_hand_is_put_back_and_the_custom_domain_not_shown() -> None:
    async def story(world: World, _scenario: LoadBalancerScenario) -> None:
        serve(world, "web", {URL: f"tls://{CUSTOM}"})
        await rest(world)
        before = [ingress(service) for service in services(world)]
        name = next(iter(world.store.objects(DOMAINS)))["metadata"]["name"]
        root = f"/apis/ingress.k8s.ngrok.com/v1alpha1/namespaces/default/domains/{name}/status"
        patch(world, root, {"status": {"cnameTarget": None}})
        await rest(world)
        assert [ingress(service) for service in services(world)] == before
        assert next(iter(world.store.objects(DOMAINS)))["status"]["cnameTarget"]

    told(story)


def test_a_service_that_cant_have_its_domain_gets_it_when_the_holder_goes() -> None:
    async def story(world: World, _scenario: LoadBalancerScenario) -> None:
        serve(world, "first", {URL: f"tls://{CUSTOM}"})
        await rest(world)
        serve(world, "second", {URL: f"tls://{CUSTOM}"})
        await rest(world)
        second = world.store.get(SERVICES, "default", "second")
        assert second is not None
        accepted = second["status"]["conditions"][0]
        assert (accepted["status"], accepted["reason"]) == ("False", "Taken")
        assert "Service first" in accepted["message"]
        annotate(world, "first", url="tls://other.edge.example")
        await rest(world)
        second = world.store.get(SERVICES, "default", "second")
        assert second is not None
        assert ingress(second)[0][0].endswith(".cname.edge.example")

    told(story)


def test_a_policy_of_a_megabyte_is_told_and_goes_nowhere() -> None:
    """Bad input: it is refused before anything is copied."""

    async def story(world: World, _scenario: LoadBalancerScenario) -> None:
        rule = {"actions": [{"type": "custom-response", "config": {"body": "x" * 1_000_000}}]}
        metadata = {"name": "big", "namespace": "default"}
        head = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "NgrokTrafficPolicy", "metadata": metadata}
        world.store.create({**head, "spec": {"policy": {"on_http_request": [rule]}}})
        serve(world, "tcp", {"k8s.ngrok.com/traffic-policy": "big"})
        await asyncio.sleep(600)
        assert list(world.store.objects(AGENTS)) == []
        service = world.store.get(SERVICES, "default", "tcp")
        assert service is not None
        words = service["status"]["conditions"][0]["message"]
        assert "at most 65536 are taken" in words
        assert len(words) < 300

    told(story)


def test_endpoints_of_nobody_are_judged_too() -> None:
    """An AgentEndpoint and a Domain that a user has made, without any Service."""

    async def story(world: World, _scenario: LoadBalancerScenario) -> None:
        group = "ngrok.k8s.ngrok.com/v1alpha1"
        endpoint = {"url": "tls://mine.example.com", "upstream": {"url": "8080"}}
        domain = {"domain": "mine.example.com", "reclaimPolicy": "Retain"}
        where = {"name": "mine", "namespace": "default"}
        kind = {"apiVersion": "ingress.k8s.ngrok.com/v1alpha1", "kind": "Domain"}
        world.store.create({**kind, "metadata": where, "spec": domain})
        world.store.create({"apiVersion": group, "kind": "AgentEndpoint", "metadata": where, "spec": endpoint})
        await rest(world)
        found = world.store.get(AGENTS, "default", "mine")
        assert found is not None
        assert found["status"]["domainRef"] == {"name": "mine", "namespace": "default"}
        world.store.delete(AGENTS, "default", "mine")
        await rest(world)
        assert world.store.get(DOMAINS, "default", "mine") is not None  # it is the user's
        world.store.delete(DOMAINS, "default", "mine")
        await asyncio.sleep(100)
        assert world.store.get(DOMAINS, "default", "mine") is None
        assert [item["domain"] for item in world.outside.there(Kind.DOMAINS)] == ["mine.example.com"]  # retained
        body = {"spec": {"domain": "other.example.com"}}
        world.store.create({**kind, "metadata": {**where, "name": "again"}, "spec": domain})
        await rest(world)
        root = "/apis/ingress.k8s.ngrok.com/v1alpha1/namespaces/default/domains/again"
        with pytest.raises(AssertionError, match="make another Domain"):
            patch(world, root, body)

    told(story)
