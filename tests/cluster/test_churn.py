"""Objects come and go, and nothing is remembered of those that are gone: an operator's memory is that of what is there.

On the embedded API server: what is weighed is the operator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from seamark.api.dns import DNSEndpoint
from seamark.api.sample import Greeting
from seamark.api.score import Workload, WorkloadExposure, WorkloadPlan
from seamark.families.bindings.family import CRDS as BINDINGS
from seamark.families.bindings.family import controllers as bindings
from seamark.families.bindings.model.options import Options as BindingsOptions
from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.dns.family import controllers as dns
from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.model.rules import Rules
from seamark.families.gateway.family import controllers as gateway
from seamark.families.gateway.model.options import Options as GatewayOptions
from seamark.families.loadbalancer.family import CRDS as LOADBALANCER
from seamark.families.loadbalancer.family import controllers as loadbalancer
from seamark.families.loadbalancer.model.options import Intervals as EdgeTiming
from seamark.families.loadbalancer.model.options import Options as LoadBalancerOptions
from seamark.families.sample.family import GREETING
from seamark.families.score.family import CRDS as SCORE
from seamark.families.score.family import without_runtime
from seamark.providers.board.memory import MemoryBoard
from seamark.providers.edge.memory import MemoryCalls, memory_edge
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_runtime.api.core import Service
from seamark_runtime.api.gateway import Gateway, GatewayClass, HTTPRoute
from seamark_runtime.api.meta import Object
from seamark_runtime.controller import Declaration
from tests.answering import AnsweringMemory
from tests.cluster.embedded_scene import HOME, Scene, living, store_with
from tests.cluster.tenants import GATEWAY_KINDS
from tests.cluster.weighing import remembered
from tests.dns.running import until
from tests.greetings import greeting_controller as sample

ZONE = "example.test"
MANY, TIMES = 40, 5
HOLD = 0.2  # seconds for which a name or place stays its namespace's
SWEPT = "Queue._heap"  # from time to time: tests/unit/runtime/test_queue.py
EDGE_TIMING = EdgeTiming(poll=0.1, verify=5.0, shelf_life=20.0, spacing=0.05, linger=0.5, soon=0.1, hold=HOLD)


@dataclass(frozen=True)
class Crowd:
    """Objects of a family: how one comes, how it goes, and of which kinds nothing may be left then."""

    scene: Scene
    declared: tuple[Declaration, ...]
    comes: Callable[[str], None]
    goes: Callable[[str], None]
    kinds: tuple[type[Object], ...]

    def there(self) -> bool:
        return all(len(self.scene.store.objects(str(kind.RESOURCE))) >= MANY for kind in self.kinds)

    def gone(self) -> bool:
        return not any(self.scene.store.objects(str(kind.RESOURCE)) for kind in self.kinds)


def greetings() -> Crowd:
    scene = Scene(store_with(GREETING))
    return Crowd(
        scene,
        (sample(MemoryBoard()),),
        lambda name: scene.make(Greeting, name, {"text": name, "board": "quay"}),
        lambda name: scene.delete(Greeting, name),
        (Greeting,),
    )


def services() -> Crowd:
    scene = Scene(store_with(*LOADBALANCER))

    def comes(name: str) -> None:
        notes = {"k8s.ngrok.com/url": f"tls://{name}.example.com"}
        spec = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": [{"port": 443}]}
        metadata = {"name": name, "namespace": "default", "annotations": notes}
        scene.store.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})

    declared = loadbalancer(LoadBalancerOptions(timing=EDGE_TIMING), memory_edge(reachable=True))
    return Crowd(scene, declared, comes, lambda name: scene.delete(Service, name), (Service,))


def records() -> Crowd:
    scene = Scene(store_with(DNS_ENDPOINT))

    def comes(name: str) -> None:
        record = {"dnsName": f"{name}.{ZONE}", "recordType": "A", "targets": ["192.0.2.1"]}
        scene.make(DNSEndpoint, name, {"endpoints": [record]})

    declared = dns(Options(Rules(zones=(ZONE,), hold=HOLD), Intervals(spacing=0.05)), AnsweringMemory((ZONE,)))
    return Crowd(scene, declared, comes, lambda name: scene.delete(DNSEndpoint, name), (DNSEndpoint,))


def routes() -> Crowd:
    scene = Scene(store_with(*GATEWAY_KINDS))
    scene.make(GatewayClass, "kgateway", {"controllerName": "kgateway.dev/kgateway"})
    listeners = [{"name": "http", "port": 80, "protocol": "HTTP"}]
    scene.make(Gateway, "gateway", {"gatewayClassName": "kgateway", "listeners": listeners})

    def comes(name: str) -> None:
        scene.make(Service, name, {"ports": [{"port": 80}]})
        rules = [{"backendRefs": [{"name": name, "port": 80}]}]
        spec = {"parentRefs": [{"name": "gateway"}], "hostnames": [f"{name}.example.com"], "rules": rules}
        scene.make(HTTPRoute, name, spec)

    def goes(name: str) -> None:
        scene.delete(HTTPRoute, name)
        scene.delete(Service, name)

    declared = gateway(GatewayOptions(translating=0.05, counting=0.1), MemoryDataPlane(listens=True))
    return Crowd(scene, declared, comes, goes, (HTTPRoute, Service))


def workloads() -> Crowd:
    scene = Scene(store_with(*SCORE))

    def comes(name: str) -> None:
        scene.make(Workload, name, {"containers": {"web": {"image": "seamark.dev/echo:v1"}}})

    kinds = (Workload, WorkloadExposure, WorkloadPlan)

    def goes(name: str) -> None:
        for kind in kinds:  # there is no garbage collector here
            scene.delete(kind, name)

    return Crowd(scene, without_runtime(), comes, goes, kinds)


async def _answers(_address: str, _port: int) -> None:
    """A network in which everything answers at once."""


def bound() -> Crowd:
    scene, edge = Scene(store_with(*BINDINGS, more=("users",))), MemoryCalls()
    spec = {"binding": {"endpointSelectors": ["true"]}, "drain": {"policy": "Delete"}}
    scene.make(KubernetesOperator, "seamark", spec, HOME)
    held: dict[str, str] = {}

    def comes(name: str) -> None:
        held[name] = edge.agent_holds(f"tcp://{name}.users:5432", bindings=("kubernetes",))

    declared = bindings(
        BindingsOptions(namespace=HOME, poll=0.1, gone_grace=0.0), memory_edge(edge, reachable=True), dial=_answers
    )
    return Crowd(scene, declared, comes, lambda name: edge.endpoint_goes(held.pop(name)), (BoundEndpoint, Service))


@pytest.mark.parametrize(
    "crowd", [greetings, services, records, routes, workloads, bound], ids=lambda one: one.__name__
)
def test_nothing_is_remembered_of_what_is_gone(crowd: Callable[[], Crowd]) -> None:
    asyncio.run(churn(crowd()))


async def churn(crowd: Crowd) -> None:
    async with living(crowd.scene.store, crowd.declared) as operator:
        weights = []
        for time in range(TIMES):
            names = [f"one-{time}-{number}" for number in range(MANY)]
            for name in names:
                crowd.comes(name)
            await until(lambda: crowd.there() and operator.quiet, "they are there")
            await asyncio.sleep(0.5)
            for name in names:
                crowd.goes(name)
            await until(lambda: crowd.gone() and operator.quiet, "they are gone")
            await asyncio.sleep(0.7)  # what lingers, goes
            weights.append(remembered(operator, crowd.declared))
    first, last = weights[1], weights[-1]  # what is made once is there by the second time
    grown = {
        place: (first[place], last[place])
        for place in last
        if last[place] > first[place] + 2 * MANY and not place.startswith(SWEPT)
    }
    assert not grown
