"""Another live controller under a name of ours: the object that both write is left alone, and no other is.

The names are other products' by default, so both may be installed. On the embedded API server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from seamark.api.dns import DNSEndpoint
from seamark.api.score import Workload, WorkloadExposure
from seamark.explain.reader import Reader
from seamark.explain.summary import summarise
from seamark.families.bindings.family import CRDS as BINDINGS
from seamark.families.bindings.family import controllers as bindings
from seamark.families.bindings.model.options import Options as BindingsOptions
from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.dns.family import controllers as dns
from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.model.rules import Rules
from seamark.families.gateway.family import TRAFFIC_POLICY
from seamark.families.gateway.family import controllers as gateway
from seamark.families.gateway.model.options import Options as GatewayOptions
from seamark.families.loadbalancer.family import CRDS as LOADBALANCER
from seamark.families.loadbalancer.family import controllers as loadbalancer
from seamark.families.loadbalancer.model.options import Options as LoadBalancerOptions
from seamark.families.score.family import CRDS as SCORE
from seamark.families.score.family import runtime_controllers, without_runtime
from seamark.families.score.model.options import Options as ScoreOptions
from seamark.providers.edge.memory import memory_edge
from seamark_cluster.embedded import EmbeddedTransport
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_runtime.api.core import Service
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.gateway import Gateway, GatewayClass, HTTPRoute
from seamark_runtime.api.meta import Object
from seamark_runtime.controller import Declaration
from seamark_runtime.resolver import Resolver
from tests.answering import AnsweringMemory
from tests.cluster.embedded_scene import HOME, Json, Scene, living, store_with
from tests.dns.running import until
from tests.simulation.gateway import KINDS


@dataclass(frozen=True)
class Case:
    """One family, an object of it, and what another controller writes there again and again."""

    declared: tuple[Declaration, ...]
    crds: tuple[CRD, ...]
    kind: type[Object]
    spec: Json
    field: str
    values: tuple[Any, Any]
    claim: str
    namespace: str = "default"
    single: bool = False  # there is only one object of the kind that is ours


def condition(kind: str, word: str) -> list[Json]:
    said = {"status": "True", "reason": "Mine", "message": word, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return [{"type": kind, "observedGeneration": 1, **said}]


def loadbalancer_case() -> Case:
    spec = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": [{"port": 80}]}
    one, two = ({"ingress": [{"ip": f"192.0.2.{number}", "ipMode": "VIP"}]} for number in (1, 2))
    declared, claim = loadbalancer(LoadBalancerOptions(), memory_edge(reachable=True)), "loadBalancerClass ngrok"
    return Case(declared, LOADBALANCER, Service, spec, "loadBalancer", (one, two), claim)


def bindings_case() -> Case:
    declared = bindings(BindingsOptions(), memory_edge(reachable=True))
    spec, claim = {"binding": {"endpointSelectors": ["true"]}}, "KubernetesOperator seamark-system/seamark"
    return Case(declared, BINDINGS, KubernetesOperator, spec, "id", ("one", "two"), claim, HOME, single=True)


def gateway_case() -> Case:
    declared = gateway(GatewayOptions(), MemoryDataPlane(listens=True))
    crds = (*(CRD(kind=kind) for kind in KINDS), TRAFFIC_POLICY)
    spec, claim = {"controllerName": "kgateway.dev/kgateway"}, "controllerName kgateway.dev/kgateway"
    values = (condition("Accepted", "one"), condition("Accepted", "two"))
    return Case(declared, crds, GatewayClass, spec, "conditions", values, claim)


def score_case() -> Case:
    spec, values = {"containers": {"main": {"image": "nginx"}}}, (condition("Ready", "one"), condition("Ready", "two"))
    return Case(without_runtime(), SCORE, Workload, spec, "conditions", values, "kind workloads.score.dev")


def runtime_case() -> Case:
    crds = (*SCORE, *(CRD(kind=kind) for kind in (Gateway, HTTPRoute)), DNS_ENDPOINT)
    spec = {"workloadRef": {"name": "seamark"}, "observedWorkloadGeneration": 1, "runtimeClass": "kubernetes"}
    field, claim = "observedWorkloadGeneration", "runtimeClass kubernetes"
    return Case(runtime_controllers(ScoreOptions(), Resolver()), crds, WorkloadExposure, spec, field, (7, 8), claim)


CASES = (loadbalancer_case, bindings_case, gateway_case, score_case, runtime_case)


class Competitor:
    """A controller with the right to write the status: it overwrites whatever is not its own."""

    def __init__(self, scene: Scene, case: Case, path: str) -> None:
        self._scene, self._case, self._path = scene, case, path
        self.writes = 0
        self.idle = 0  # how often in a row there was nothing to overwrite

    def reconcile(self) -> None:
        case = self._case
        self.idle += 1
        if self._scene.get(case.kind, "seamark", case.namespace)["status"].get(case.field) != case.values[1]:
            self.writes, self.idle = self.writes + 1, 0
            self._scene.say("competitor", self._path, {case.field: case.values[1]})


def written(scene: Scene, case: Case, name: str) -> bool:
    """Whether we have written the status."""
    managers = scene.get(case.kind, name, case.namespace).get("metadata", {}).get("managedFields", ())
    return any(one.get("subresource") == "status" for one in managers)


@pytest.mark.parametrize("make", CASES)
def test_the_object_that_another_controller_overwrites_is_left_alone_and_no_other(make: Callable[[], Case]) -> None:
    case = make()
    scene = Scene(store_with(*case.crds))
    path = case.kind.RESOURCE.path(case.namespace if case.kind.RESOURCE.namespaced else "", "seamark")
    competitor = Competitor(scene, case, path)

    def fight() -> bool:
        competitor.reconcile()
        return bool(scene.told()) and competitor.idle > 10

    async def story() -> None:
        async with living(scene.store, case.declared) as operator:
            scene.make(case.kind, "seamark", case.spec, case.namespace)
            await until(lambda: operator.quiet and written(scene, case, "seamark"), "our status is there")
            scene.say("a-person", path, {case.field: case.values[0]})
            await until(lambda: operator.quiet and not standing(case.values[0]), "what a person changes is put right")
            assert not scene.told()
            await until(fight, "the other controller is noticed")
            assert competitor.writes <= 8, "we do not write for ever"
            assert f"may use the {case.claim}, too" in scene.told()[0]
            await until(lambda: operator.quiet, "nothing is left to do")
            scene.edit(path, {"metadata": {"annotations": {"touched": "yes"}}})
            await asyncio.sleep(0.5)
            await until(lambda: operator.quiet, "nothing is left to do")
            assert standing(case.values[1]), "the other controller's value stands"
            summary = await summarise(Reader(EmbeddedTransport(scene.store)))
            assert [case.claim in one for one in summary.competing] == [True]
            if not case.single:
                scene.make(case.kind, "other", case.spec, case.namespace)
                await until(lambda: written(scene, case, "other"), "one object stops no other")

    def standing(value: object) -> bool:
        status = scene.get(case.kind, "seamark", case.namespace)["status"]
        return bool(status.get(case.field) == value)

    asyncio.run(story())


@pytest.mark.parametrize("make", CASES)
def test_forged_managed_fields_stop_nothing(make: Callable[[], Case]) -> None:
    case = make()
    scene = Scene(store_with(*case.crds))
    path = case.kind.RESOURCE.path(case.namespace if case.kind.RESOURCE.namespaced else "", "seamark")

    async def story() -> None:
        async with living(scene.store, case.declared) as operator:
            scene.make(case.kind, "seamark", case.spec, case.namespace)
            await until(lambda: operator.quiet and written(scene, case, "seamark"), "our status is there")
            for second in range(10, 20):
                forged = {
                    "manager": "rival",
                    "operation": "Update",
                    "subresource": "status",
                    "apiVersion": case.kind.RESOURCE.api_version,
                    "time": f"2026-01-01T00:00:{second}Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:status": {".": {}, **({f"f:{case.field}": {}} if second % 2 else {})}
                    },  # else no change
                }
                scene.edit(path, {"metadata": {"managedFields": [forged]}})
                managers = scene.get(case.kind, "seamark", case.namespace)["metadata"]["managedFields"]
                assert forged in managers
                await asyncio.sleep(0.05)
            await until(lambda: operator.quiet, "nothing is left to do")
            assert not scene.told()

    asyncio.run(story())


def test_two_that_write_records_under_one_owner_id_notice_each_other() -> None:
    zone = "example.test"
    provider = AnsweringMemory((zone,))
    scenes = [Scene(store_with(DNS_ENDPOINT)) for _ in range(2)]
    rules = Rules(zones=(zone,), owner="default", empty_deletes=True)

    async def story() -> None:
        async with AsyncExitStack() as stack:
            for number, scene in enumerate(scenes):
                declared = dns(Options(rules, Intervals(spacing=0.02, poll=0.1)), provider)
                await stack.enter_async_context(living(scene.store, declared))
                records = [{"dnsName": f"w{number}.{zone}", "recordType": "A", "targets": ["192.0.2.1"]}]
                scene.make(DNSEndpoint, "records", {"endpoints": records})
            await until(lambda: any(scene.told() for scene in scenes), "one of them notices")
            found = [words for scene in scenes for words in scene.told()]
            assert f"writes in the zone {zone}, and may use the owner id default, too" in found[0]
            before = provider.content(zone).serial
            await asyncio.sleep(1)
            assert provider.content(zone).serial - before <= 4, "they do not undo each other's records for ever"

    asyncio.run(story())
