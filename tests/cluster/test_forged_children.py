"""Forged children: a tenant copies what the operator has made for another tenant, mark for mark, into a namespace of
theirs, with a finalizer that never goes. All families run at once, on the embedded API server.

docs/security.md: no child is found by its mark alone, wherever a tenant may write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from seamark.api.sample import Greeting
from seamark.api.score import Workload
from seamark.families.bindings.family import CRDS as BINDINGS
from seamark.families.bindings.family import controllers as bindings
from seamark.families.bindings.model.options import Options
from seamark.families.bindings.model.targets import parse
from seamark.families.dns.family import controllers as dns
from seamark.families.dns.model.options import Intervals
from seamark.families.dns.model.options import Options as DnsOptions
from seamark.families.dns.model.rules import Rules
from seamark.families.gateway.family import controllers as gateway
from seamark.families.gateway.model.options import Front
from seamark.families.gateway.model.options import Options as GatewayOptions
from seamark.families.loadbalancer.family import CRDS as LOADBALANCER
from seamark.families.loadbalancer.family import controllers as loadbalancer
from seamark.families.loadbalancer.model.options import Options as LoadBalancerOptions
from seamark.families.sample.family import GREETING
from seamark.families.score.family import runtime_controllers, without_runtime
from seamark.families.score.model.options import Options as ScoreOptions
from seamark.providers.board.memory import MemoryBoard
from seamark.providers.edge.memory import MemoryCalls, memory_edge
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_runtime.api.core import Service
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.controller import Declaration
from seamark_runtime.operator import Operator
from seamark_runtime.request import Request
from seamark_runtime.resolver import Resolver
from tests.answering import AnsweringMemory
from tests.cluster.bindings_world import PlainCertificates
from tests.cluster.embedded_scene import HOME, Json, Scene, store_with
from tests.cluster.tenants import (
    ATTACKER,
    GATEWAY_KINDS,
    SCORE_KINDS,
    TENANTS,
    TIMING,
    VICTIM,
    ZONE,
    story,
)
from tests.dns.running import until
from tests.greetings import greeting_controller as sample

EVIL = "evil.example/x"
BOUND = f"tcp://bound.{VICTIM}:9000"
PROMPTLY = 20.0  # seconds; what hangs never ends


async def connected(_address: str, _port: int) -> None:
    """Every upstream Service answers."""


@dataclass
class Victim:
    """A tenant with an object of each family, and what the operator has made for them."""

    scene: Scene
    edge: MemoryCalls = field(default_factory=MemoryCalls)
    endpoint: str = ""  # at the edge, of an agent

    def declared(self) -> tuple[Declaration, ...]:
        fast = Options(namespace=HOME, poll=0.2, gone_grace=0.0)
        rules = Rules(zones=(ZONE,), owner="me", objects=frozenset(("service",)))
        options = GatewayOptions(addresses=("192.0.2.0/24",), front=Front(load_balancer_class="other"))
        return (
            *bindings(fast, memory_edge(self.edge, reachable=True), certificates=PlainCertificates(), dial=connected),
            *gateway(options, MemoryDataPlane(listens=True)),
            *(*without_runtime(), *runtime_controllers(ScoreOptions(probes=False), Resolver())),
            *loadbalancer(LoadBalancerOptions(timing=TIMING), memory_edge(reachable=True)),
            *dns(DnsOptions(rules, Intervals(spacing=0.02, poll=1.0)), AnsweringMemory((ZONE,))),
            sample(MemoryBoard()),
        )

    def comes(self) -> None:
        scene = self.scene
        self.endpoint = self.edge.agent_holds(BOUND, bindings=("kubernetes",))
        listeners = [{"name": "http", "port": 80, "protocol": "HTTP"}]
        scene.make(Gateway, "entry", {"gatewayClassName": "kgateway", "listeners": listeners}, VICTIM)
        main = {"image": "nginx", "files": [{"target": "/etc/motd", "content": "hello"}]}
        ports = {"ports": [{"name": "web", "port": 80}]}
        scene.make(Workload, "app", {"containers": {"main": main}, "service": ports}, VICTIM)
        scene.make(Greeting, "hello", {"text": "hello"}, VICTIM)
        notes = {"k8s.ngrok.com/url": "tls://shop.example.com"}
        named = {"external-dns.alpha.kubernetes.io/hostname": f"shop.{ZONE}"}
        target = {"external-dns.alpha.kubernetes.io/target": "192.0.2.9"}
        spec = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": [{"port": 443}]}
        metadata = {"name": "shop", "namespace": VICTIM, "annotations": {**notes, **named, **target}}
        scene.store.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})

    def goes(self) -> None:
        self.edge.endpoint_goes(self.endpoint)
        kinds: tuple[tuple[type[Object], str], ...] = (
            *((Gateway, "entry"), (Workload, "app")),
            *((Greeting, "hello"), (Service, "shop")),
        )
        for kind, name in kinds:
            self.scene.delete(kind, name, VICTIM)


def served(operator: Operator) -> Iterator[tuple[Declaration, Object]]:
    """Every child of every family, outside of the attacker's namespace."""
    for declared in operator.loop.router.controllers.values():
        for kind in declared.writes.children:
            for child in operator.informers[kind].cache:
                if (
                    kind.RESOURCE.namespaced
                    and child.metadata.namespace != ATTACKER
                    and [*declared.writes.ownership.owners(child)]
                ):
                    yield declared, child


def children_of(operator: Operator) -> set[tuple[str, str, str]]:
    found = ((declared.name, type(child).RESOURCE.kind, child.key) for declared, child in served(operator))
    return {(name, kind, key.namespace) for name, kind, key in found}


def forge(scene: Scene, operator: Operator) -> list[tuple[Declaration, type[Object], str]]:
    """Two copies of each child: with all its marks, and without the owner reference, by which Kubernetes collects."""
    copies = []
    for number, (declared, child) in enumerate(list(served(operator))):
        kind = type(child)
        body = scene.get(kind, child.key.name, child.key.namespace)
        marks = {name: body["metadata"].get(name) for name in ("labels", "annotations", "ownerReferences")}
        for copy, owned in ((f"forged-{number}", True), (f"labelled-{number}", False)):
            metadata = {"name": copy, "namespace": ATTACKER, "finalizers": [EVIL]}
            metadata |= {name: value for name, value in marks.items() if value and (owned or name != "ownerReferences")}
            scene.store.create({**without_places(body), "metadata": metadata})
            if not owned:
                copies.append((declared, kind, copy))
    return copies


def without_places(body: Json) -> Json:
    """As a tenant would write it: without what the API server gives, and without a status."""
    spec = {name: value for name, value in (body.get("spec") or {}).items() if not name.startswith("clusterIP")}
    return {name: value for name, value in body.items() if name not in ("metadata", "status", "spec")} | (
        {"spec": spec} if spec else {}
    )


@contextmanager
def reconciled(operator: Operator) -> Iterator[list[Request]]:
    """Every request that a worker takes meanwhile, of controllers that have children."""
    router, requests = operator.loop.router, list[Request]()
    starts = router.reconcile_starts

    def noted(request: Request) -> None:
        if router.controllers[request.controller].writes.children:
            requests.append(request)
        starts(request)

    router.reconcile_starts = noted  # type: ignore[method-assign]  # as it is, and noted
    yield requests
    router.reconcile_starts = starts  # type: ignore[method-assign]


def test_copies_of_another_tenants_children_delay_and_change_nothing() -> None:
    crds = (*BINDINGS, *GATEWAY_KINDS, *SCORE_KINDS, *LOADBALANCER, GREETING)
    scene = Scene(store_with(*crds, more=TENANTS))
    victim = Victim(scene)
    binding = {"endpointSelectors": ["true"]}
    scene.make(KubernetesOperator, "seamark", {"binding": binding, "drain": {"policy": "Delete"}}, HOME)

    def ready() -> bool:
        shown = scene.condition(BoundEndpoint, parse(BOUND).name, "Ready", HOME)
        return shown.get("status") == "True" and bool(scene.get(Service, "bound", VICTIM))

    async def play(operator: Operator) -> None:
        victim.comes()
        await until(ready, "the binding is ready", PROMPTLY)
        await settled(operator)
        made = children_of(operator)
        expected = {"boundendpoints", "binding-groups", "binding-projections", "gateway-fronts", "score-renderer"}
        expected |= {"score-orchestrator", "score-registrar", "services", "hosts", "dnsnames-service", "greetings"}
        assert expected <= {name for name, _, _ in made}, "every family has children to forge"
        copies = forge(scene, operator)
        await settled(operator)

        with reconciled(operator) as items:
            for number in range(20):
                for _, kind, name in copies:
                    path = kind.RESOURCE.path(ATTACKER, name)
                    scene.edit(path, {"metadata": {"annotations": {"evil.example/count": str(number)}}})
                await asyncio.sleep(0.02)
            await settled(operator)
        assert items, "the attacker's own objects are looked at"
        assert {item.key.namespace for item in items} == {ATTACKER}, "and nobody else's"

        victim.goes()
        await until(lambda: not children_of(operator), lambda: f"all is gone: {children_of(operator)}", PROMPTLY)
        await settled(operator)
        victim.comes()
        await until(ready, "the binding is ready again", PROMPTLY)
        await until(lambda: children_of(operator) == made, "all children are there again", PROMPTLY)
        untouched(scene, copies)

    story(scene, victim.declared(), play)


def untouched(scene: Scene, copies: list[tuple[Declaration, type[Object], str]]) -> None:
    """Nothing is done to the copies, but where the attacker's own keys own them: those are the attacker's own loss."""
    checked = 0
    for declared, kind, name in copies:
        body = scene.get(kind, name, ATTACKER)
        owners = declared.writes.ownership.owners(msgspec.convert(body, kind))
        if any(isinstance(owner, Key) and owner.namespace == ATTACKER for owner in owners):
            continue
        assert "deletionTimestamp" not in body["metadata"], f"{declared.name} deleted {kind.RESOURCE.kind} {name}"
        checked += 1
    assert checked


async def settled(operator: Operator) -> None:
    await asyncio.sleep(1.0)
    await until(lambda: operator.quiet, "nothing is left to do", PROMPTLY)
