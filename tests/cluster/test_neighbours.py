"""A good neighbour: whoever finds another live controller under its name stops writing, and says so.

The names are other products' by default, so both may be installed. On the embedded API server.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from seamark.api.core import Service
from seamark.api.crd import CRD
from seamark.api.dns import DNSEndpoint
from seamark.api.gateway import Gateway, GatewayClass, HTTPRoute
from seamark.api.kubernetesoperator import KubernetesOperator
from seamark.api.meta import Object
from seamark.api.score import Workload, WorkloadExposure
from seamark.cluster.embedded import EmbeddedTransport
from seamark.core.waker import Declaration
from seamark.explain.reader import Reader
from seamark.explain.summary import summarise
from seamark.families.bindings.controller import Means
from seamark.families.bindings.controller import controllers as bindings
from seamark.families.bindings.family import CRDS as BINDINGS
from seamark.families.bindings.state import Settings as BindingsSettings
from seamark.families.dns.controller import Timing
from seamark.families.dns.controller import controllers as dns
from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.dns.rules import Rules
from seamark.families.gateway.controllers import controllers as gateway
from seamark.families.gateway.family import TRAFFIC_POLICY
from seamark.families.gateway.options import Options as GatewayOptions
from seamark.families.loadbalancer.controllers import controllers as loadbalancer
from seamark.families.loadbalancer.family import CRDS as LOADBALANCER
from seamark.families.score.crds import CRDS as SCORE
from seamark.families.score.family import without_runtime
from seamark.families.score.runtime.controller import controllers as runtime
from seamark.providers.dataplane.memory import MemoryDataPlane
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.edge.memory import memory_edge
from tests.cluster.embedded_scene import HOME, Json, Scene, living, store_with
from tests.dns.running import until
from tests.simulation.gateway import KINDS


@dataclass(frozen=True)
class Case:
    """One family, an object of it, and what a rival says there again and again."""

    declared: tuple[Declaration, ...]
    crds: tuple[CRD, ...]
    kind: type[Object]
    spec: Json
    field: str
    values: tuple[Any, Any]
    claim: str
    namespace: str = "default"


def condition(kind: str, word: str) -> list[Json]:
    said = {"status": "True", "reason": "Mine", "message": word, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return [{"type": kind, "observedGeneration": 1, **said}]


def loadbalancer_case() -> Case:
    spec = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": [{"port": 80}]}
    one, two = ({"ingress": [{"ip": f"192.0.2.{number}", "ipMode": "VIP"}]} for number in (1, 2))
    declared, claim = loadbalancer(memory_edge()), "loadBalancerClass ngrok"
    return Case(declared, LOADBALANCER, Service, spec, "loadBalancer", (one, two), claim)


def bindings_case() -> Case:
    declared = bindings(BindingsSettings(), Means(memory_edge()))
    spec, claim = {"binding": {"endpointSelectors": ["true"]}}, "KubernetesOperator seamark-system/seamark"
    return Case(declared, BINDINGS, KubernetesOperator, spec, "id", ("one", "two"), claim, HOME)


def gateway_case() -> Case:
    declared = gateway(MemoryDataPlane(), GatewayOptions())
    crds = (*(CRD(kind=kind) for kind in KINDS), TRAFFIC_POLICY)
    spec, claim = {"controllerName": "kgateway.dev/kgateway"}, "controllerName kgateway.dev/kgateway"
    values = (condition("Accepted", "one"), condition("Accepted", "two"))
    return Case(declared, crds, GatewayClass, spec, "conditions", values, claim)


def score_case() -> Case:
    spec, values = {"containers": {"main": {"image": "nginx"}}}, ("https://a.test", "https://b.test")
    return Case(without_runtime(), SCORE, Workload, spec, "endpoint", values, "kind workloads.score.dev")


def runtime_case() -> Case:
    crds = (*SCORE, *(CRD(kind=kind) for kind in (Gateway, HTTPRoute)), DNS_ENDPOINT)
    spec = {"workloadRef": {"name": "seamark"}, "observedWorkloadGeneration": 1, "runtimeClass": "kubernetes"}
    field, claim = "observedWorkloadGeneration", "runtimeClass kubernetes"
    return Case(runtime(), crds, WorkloadExposure, spec, field, (7, 8), claim)


CASES = (loadbalancer_case, bindings_case, gateway_case, score_case, runtime_case)


@pytest.mark.parametrize("make", CASES)
def test_a_rival_is_noticed_told_and_left_alone(make: Callable[[], Case]) -> None:
    case = make()
    scene = Scene(store_with(*case.crds))
    path = case.kind.RESOURCE.path(case.namespace if case.kind.RESOURCE.namespaced else "", "seamark")
    turns = itertools.count()

    def fight() -> bool:
        scene.say("rival", path, {case.field: case.values[next(turns) // 8 % 2]})
        return bool(scene.told())

    async def story() -> None:
        async with living(scene.store, case.declared) as operator:
            scene.make(case.kind, "seamark", case.spec, case.namespace)
            await until(lambda: operator.quiet and spoken(), "we have spoken")
            scene.say("kubectl-edit", path, {case.field: case.values[0]})
            scene.say("a-person", path, {case.field: case.values[1]})
            await until(lambda: operator.quiet, "what a person tries once is put right")
            assert not scene.told()
            await until(fight, "the rival is noticed")
            words = f"Another controller (rival) answers to the {case.claim}"
            assert words in scene.told()[0]
            await until(lambda: operator.quiet, "nothing is left to do")
            scene.say("rival", path, {case.field: case.values[1]})
            scene.edit(path, {"metadata": {"annotations": {"touched": "yes"}}})
            await asyncio.sleep(0.5)
            await until(lambda: operator.quiet, "nothing is left to do")
            left = scene.get(case.kind, "seamark", case.namespace)
            assert left["status"][case.field] == case.values[1], "the rival's word stands"
            summary = await summarise(Reader(EmbeddedTransport(scene.store)))
            assert [words in one for one in summary.rivals] == [True]

    def spoken() -> bool:
        return "managedFields" in scene.get(case.kind, "seamark", case.namespace).get("metadata", {})

    asyncio.run(story())


def test_two_that_write_records_under_one_owner_id_notice_each_other() -> None:
    zone = "example.test"
    provider = MemoryProvider((zone,))
    scenes = [Scene(store_with(DNS_ENDPOINT)) for _ in range(2)]
    rules = Rules(zones=(zone,), owner="default", empty_deletes=True)

    async def story() -> None:
        async with AsyncExitStack() as stack:
            for number, scene in enumerate(scenes):
                declared = dns(provider, rules, Timing(spacing=0.02, poll=0.1))
                await stack.enter_async_context(living(scene.store, declared))
                records = [{"dnsName": f"w{number}.{zone}", "recordType": "A", "targets": ["192.0.2.1"]}]
                scene.make(DNSEndpoint, "records", {"endpoints": records})
            await until(lambda: any(scene.told() for scene in scenes), "one of them notices")
            found = [words for scene in scenes for words in scene.told()]
            assert "answers to the owner id default" in found[0]
            before = provider.content(zone).serial
            await asyncio.sleep(1)
            assert provider.content(zone).serial - before <= 4, "they do not undo each other's records for ever"

    asyncio.run(story())
