"""Registrations at the edge whose KubernetesOperator is gone: removed after a while, and never another's."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from seamark.families.bindings.family import CRDS, controllers
from seamark.families.bindings.model.options import Options
from seamark.providers.edge.calls import Kind
from seamark.providers.edge.memory import MemoryCalls, memory_edge
from seamark.providers.edge.objectcache import Freshness
from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_edge.model import Fields, OperatorSpec, Owner
from seamark_runtime.errors import Retry
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from tests.virtual_time import CLOCK, run

GRACE = 600.0
SETTINGS = Settings(leader_election=False, health_address="", watch_idle=1e6, watch_lifetime=1e6, workers=4)
SPEC = {"enabledFeatures": ["bindings"], "binding": {"endpointSelectors": ["true"], "tlsSecretName": "tls"}}


class Edge(MemoryCalls):
    """It may be silent."""

    silent = False

    async def listed(self, kind: Kind, *, limit: int = 0, where: str = "") -> list[Fields]:
        if self.silent:
            raise Retry("the edge does not answer")
        return await super().listed(kind, limit=limit, where=where)


class Site:
    """A cluster with one installation, `seamark`, and its edge with registrations of others and of the past."""

    def __init__(self) -> None:
        self.store, self.edge = Store(clock=CLOCK, chance=Random(1)), Edge()
        for kind in CRDS:
            self.store.create(kind.manifest())
        body = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "KubernetesOperator", "spec": SPEC}
        self.store.create({**body, "metadata": {"name": "seamark", "namespace": "default"}})
        found: Any = self.store.get("namespaces", "", "kube-system")
        self.cluster = found["metadata"]["uid"]

    async def prepare(self) -> None:
        gone = Owner(self.cluster, "default", "gone", "uid-1")
        elsewhere = Owner(self.cluster, "other-installation", "seamark", "uid-2")
        foreign = Owner("uid-of-another-cluster", "default", "gone", "uid-3")
        for owner in (gone, elsewhere, foreign):
            await memory_edge(self.edge).register(owner, OperatorSpec(("true",)))

    async def operate(self, seconds: float) -> None:
        provider = memory_edge(self.edge, Freshness(clock=CLOCK), reachable=True)
        declared = controllers(Options(namespace="default", sweep=GRACE), provider, clock=CLOCK)
        operator = Operator(World(EmbeddedTransport(self.store), CLOCK, Random(1), "operator"), declared, SETTINGS)
        running = asyncio.ensure_future(operator.run())
        await asyncio.sleep(seconds)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    async def registered(self) -> set[str]:
        found = [Owner.of(item["metadata"]) for item in await MemoryCalls.listed(self.edge, Kind.OPERATORS)]
        return {f"{owner.namespace}/{owner.name} {owner.uid}" for owner in found if owner is not None}


def test_a_registration_without_its_object_is_removed_after_the_grace_period() -> None:
    async def story() -> None:
        site = Site()
        await site.prepare()
        await site.operate(0.9 * GRACE)
        assert "default/gone uid-1" in await site.registered()
        await site.operate(GRACE + 200)  # a new operator counts anew
        left = await site.registered()
        assert "default/gone uid-1" not in left
        assert {"other-installation/seamark uid-2", "default/gone uid-3"} <= left
        assert any(name.startswith("default/seamark ") for name in left)

    run(story())


def test_while_the_edge_does_not_answer_nothing_is_removed() -> None:
    async def story() -> None:
        site = Site()
        await site.prepare()
        site.edge.silent = True
        await site.operate(3 * GRACE)
        assert "default/gone uid-1" in await site.registered()

    run(story())
