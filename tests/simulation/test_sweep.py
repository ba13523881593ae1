"""What is at the edge for objects that are gone without a word: removed after a while, and never too early."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from seamark.families.loadbalancer.model.options import ANY_CLUSTER
from seamark.providers.edge.calls import Kind
from seamark_edge.model import Owner
from tests.simulation.loadbalancer.acts import CLOUDS, SERVICES, STRATEGY, collect_garbage, patch, serve
from tests.simulation.loadbalancer.scenario import TIMING, LoadBalancerScenario
from tests.simulation.runner import rest
from tests.simulation.test_loadbalancer import told
from tests.simulation.world import World

GRACE = 1200.0
DOMAINS = "domains.ingress.k8s.ngrok.com"
DOMAIN_PATH = "/apis/ingress.k8s.ngrok.com/v1alpha1/namespaces/default/domains"
VERBOSE = {STRATEGY: "endpoints-verbose"}


def torn_out(world: World, name: str) -> None:
    """Somebody deletes a Service and its CloudEndpoints, and removes their finalizers, while the operator is away."""
    world.store.delete(SERVICES, "default", name)
    patch(world, f"/api/v1/namespaces/default/services/{name}", {"metadata": {"finalizers": None}})
    collect_garbage(world)
    for cloud in list(world.store.objects(CLOUDS)):
        if cloud["metadata"]["name"].startswith(f"{name}-"):
            root = "/apis/ngrok.k8s.ngrok.com/v1alpha1/namespaces/default/cloudendpoints/"
            patch(world, root + cloud["metadata"]["name"], {"metadata": {"finalizers": None}})


def owned(world: World) -> dict[Kind, list[str]]:
    kinds = (Kind.ADDRESSES, Kind.ENDPOINTS, Kind.DOMAINS)
    marks = {kind: [Owner.of(item["metadata"]) for item in world.outside.there(kind)] for kind in kinds}
    return {kind: sorted(owner.name for owner in found if owner is not None) for kind, found in marks.items()}


async def prepared(world: World, scenario: LoadBalancerScenario) -> dict[Kind, list[str]]:
    scenario.options = replace(scenario.options, sweep=GRACE)
    world.restart_operator()
    await asyncio.sleep(10)
    serve(world, "stays", VERBOSE)
    serve(world, "goes", VERBOSE)
    await rest(world)
    theirs = Owner("other", "default", "goes", "uid-of-another-cluster")
    world.outside._new(Kind.ADDRESSES, {"addr": "edge.example:28000", "metadata": theirs.metadata})
    world.outside.reserve_by_hand("edge.example:29000")
    before = owned(world)
    world.restart_operator()
    torn_out(world, "goes")
    return before


def test_what_is_left_of_an_object_is_removed_after_a_grace_period() -> None:
    async def story(world: World, scenario: LoadBalancerScenario) -> None:
        before = await prepared(world, scenario)
        assert before[Kind.ADDRESSES].count("goes") == 2
        await asyncio.sleep(0.9 * GRACE)
        assert owned(world) == before
        await asyncio.sleep(0.1 * GRACE + 2 * TIMING.verify)
        after = owned(world)
        assert after[Kind.ADDRESSES] == ["goes", "stays"]  # that of the other cluster stays
        assert [name.partition("-")[0] for name in after[Kind.ENDPOINTS]] == ["stays"]
        assert "edge.example:29000" in [item["addr"] for item in world.outside.there(Kind.ADDRESSES)]
        world.check()

    told(story)


def test_nothing_is_removed_while_the_edge_does_not_answer_nor_soon_after() -> None:
    async def story(world: World, scenario: LoadBalancerScenario) -> None:
        before = await prepared(world, scenario)
        await asyncio.sleep(10)
        world.outside.fall_silent(2 * GRACE)
        await asyncio.sleep(2 * GRACE)
        assert owned(world) == before

    told(story)


def test_an_object_of_the_same_name_with_another_uid_is_another_owner() -> None:
    async def story(world: World, scenario: LoadBalancerScenario) -> None:
        before = await prepared(world, scenario)
        serve(world, "goes")
        await asyncio.sleep(GRACE + 3 * TIMING.verify)
        uids = [Owner.of(item["metadata"]) for item in world.outside.there(Kind.ADDRESSES)]
        there: Any = world.store.get(SERVICES, "default", "goes")
        assert before[Kind.ADDRESSES].count("goes") == 2
        assert [owner.uid for owner in uids if owner and owner.name == "goes" and owner.cluster == "sim"] == [
            there["metadata"]["uid"]
        ]

    told(story)


def test_without_a_name_for_the_cluster_its_identity_says_what_is_ours() -> None:
    async def story(world: World, scenario: LoadBalancerScenario) -> None:
        scenario.options = replace(scenario.options, cluster=ANY_CLUSTER)
        await prepared(world, scenario)
        known = [Owner.of(item["metadata"]) for item in world.outside.there(Kind.ADDRESSES)]
        (uid,) = {owner.cluster_uid for owner in known if owner is not None and owner.cluster == ANY_CLUSTER}
        namespace: Any = world.store.get("namespaces", "", "kube-system")
        assert uid == namespace["metadata"]["uid"]
        same_name = Owner(ANY_CLUSTER, "default", "goes", "uid-of-another-cluster", cluster_uid="another")
        earlier = Owner(ANY_CLUSTER, "default", "goes", "uid-of-an-earlier-version")
        for port, owner in ((28001, same_name), (28002, earlier)):
            body = {"addr": f"edge.example:{port}", "metadata": owner.metadata}
            world.outside._new(Kind.ADDRESSES, body)
        await asyncio.sleep(GRACE + 3 * TIMING.verify)
        there = {item["addr"] for item in world.outside.there(Kind.ADDRESSES)}
        assert {"edge.example:28000", "edge.example:28001", "edge.example:28002"} <= there
        uids = [Owner.of(item["metadata"]) for item in world.outside.there(Kind.ADDRESSES)]
        ours = sorted(owner.name for owner in uids if owner is not None and owner.cluster_uid == uid)
        assert ours == ["stays"]

    told(story)


def test_a_domain_is_swept_if_its_reclaim_policy_was_delete_and_stays_if_it_was_retain() -> None:
    async def story(world: World, scenario: LoadBalancerScenario) -> None:
        scenario.options = replace(scenario.options, sweep=GRACE)
        world.restart_operator()
        for name, reclaim in (("goes", "Delete"), ("kept", "Retain"), ("turned", "Delete")):
            domain(world, name, reclaim)
        await rest(world)
        patch(world, f"{DOMAIN_PATH}/turned", {"spec": {"reclaimPolicy": "Retain"}})
        await rest(world)
        world.restart_operator()
        for name in ("goes", "kept", "turned"):
            world.store.delete(DOMAINS, "default", name)
            patch(world, f"{DOMAIN_PATH}/{name}", {"metadata": {"finalizers": None}})
        await asyncio.sleep(0.5 * GRACE)
        assert names(world) == {"goes.edge.example", "kept.edge.example", "turned.edge.example"}
        await asyncio.sleep(0.5 * GRACE + 3 * TIMING.verify)
        assert names(world) == {"kept.edge.example", "turned.edge.example"}

    told(story)


def domain(world: World, name: str, reclaim: str) -> None:
    spec = {"domain": f"{name}.edge.example", "reclaimPolicy": reclaim}
    body = {"apiVersion": "ingress.k8s.ngrok.com/v1alpha1", "kind": "Domain", "spec": spec}
    world.store.create({**body, "metadata": {"name": name, "namespace": "default"}})


def names(world: World) -> set[str]:
    return {item["domain"] for item in world.outside.there(Kind.DOMAINS)}
