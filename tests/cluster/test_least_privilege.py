"""Every right that a family is given is used, and none is missing: the audit log of a real API server tells.

Each family runs under an account with the roles that follow from its declarations, and has a hard life (`hardship`).
Two are proven elsewhere, in the same way: the sample in test_core_rights, the parts of Score in test_score_rights,
where what the contract of its kinds grants is granted whether or not it is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from seamark.api.dns import DNSEndpoint
from seamark.api.ngrokingress import Domain
from seamark.cli.families import FAMILIES
from seamark.families.bindings.family import controllers as bindings
from seamark.families.bindings.model.targets import parse
from seamark.families.dns.family import controllers as dns
from seamark.families.dns.model.options import Intervals
from seamark.families.dns.model.options import Options as DnsOptions
from seamark.families.dns.model.rules import Rules
from seamark.families.gateway.family import controllers as gateway
from seamark.families.gateway.model.options import Cluster
from seamark.families.gateway.model.options import Options as GatewayOptions
from seamark.families.loadbalancer.family import controllers as loadbalancer
from seamark.families.loadbalancer.model.options import Options as LoadBalancerOptions
from seamark.gatewayapi.bundle import definitions
from seamark.providers.edge.calls import Kind
from seamark.providers.edge.memory import memory_edge
from seamark_cluster.real.plane import ControlPlane, Options, User
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_runtime import events
from seamark_runtime.api.core import Service
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.client import Client
from seamark_runtime.clock import SystemClock
from seamark_runtime.controller import Declaration
from seamark_runtime.http import HttpTransport
from seamark_runtime.leader import Leader, LeaseSettings
from seamark_runtime.rbac import Grant
from seamark_runtime.signing import make_authority
from tests.answering import AnsweringMemory
from tests.cluster.bindings_world import PlainCertificates, installation
from tests.cluster.gateway_operator import GROUP, Scene
from tests.cluster.hardship import hard_running
from tests.cluster.operator_under_test import connection, until
from tests.cluster.requests import eventually, request
from tests.cluster.rights import granted, needed, refused, used
from tests.cluster.test_loadbalancer_kinds import TIMING, Edge

USERS = ("dns", "gateway", "gateway-pods", "loadbalancer", "bindings", "leader")
MERGE = "application/merge-patch+json"
PATIENCE = 60.0
EVERYTHING = Path(__file__).parent / "least_privilege_gateway.yaml"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane(Options(users=tuple(map(User, USERS)))) as plane:
        published = yaml.safe_dump_all(definitions("experimental"))
        plane.kubectl("apply", "--server-side", "-f", "-", stdin=published)
        for family in FAMILIES.values():
            for crd in family.crds:
                _define(plane, crd)
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        plane.restart_controllers()
        yield plane


def _define(plane: ControlPlane, crd: CRD) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert request(plane, "POST", path, crd.manifest()).code == 201


@pytest.fixture(autouse=True)
def events_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "WINDOW", 0.0)


class World:
    """What a person does with any kind, in one namespace."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace
        made = request(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        assert made.code == 201, made.body

    def make(self, kind: type[Object], name: str, spec: Json, **metadata: Any) -> None:
        resource = kind.RESOURCE
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, **metadata}}
        made = request(self.plane, "POST", resource.path(self.namespace), {**body, "spec": spec})
        assert made.code == 201, made.body

    def get(self, kind: type[Object], name: str) -> Json:
        answer = request(self.plane, "GET", kind.RESOURCE.path(self.namespace, name))
        return answer.body if answer.code == 200 else {}

    def listed(self, kind: type[Object]) -> list[Json]:
        found: list[Json] = request(self.plane, "GET", kind.RESOURCE.path(self.namespace)).body["items"]
        return found

    def edit(self, kind: type[Object], name: str, patch: Json) -> None:
        path = kind.RESOURCE.path(self.namespace, name)
        assert request(self.plane, "PATCH", path, patch, content_type=MERGE).code == 200

    def drop(self, kind: type[Object], name: str) -> None:
        request(self.plane, "DELETE", kind.RESOURCE.path(self.namespace, name))
        eventually(lambda: not self.get(kind, name), f"{name} is gone", PATIENCE)

    def condition_status(self, kind: type[Object], name: str, condition: str = "Ready") -> str:
        found = (self.get(kind, name).get("status") or {}).get("conditions") or ()
        return next((one["status"] for one in found if one["type"] == condition), "")

    def until_condition(self, kind: type[Object], name: str, condition: str, status: str) -> None:
        eventually(
            lambda: self.condition_status(kind, name, condition) == status,
            f"{condition} of {name} is {status}",
            PATIENCE,
        )


@contextmanager
def proven(plane: ControlPlane, user: str, declared: tuple[Declaration, ...]) -> Iterator[None]:
    """Inside, a family lives under its own rights; at the end each of them was used, and no other was asked for."""
    rights, mark = needed(declared), plane.audit.mark()
    with granted(plane, user, rights), hard_running(plane, declared, plane.user(user).token):
        yield

        def unused() -> list[Grant]:
            return sorted(rights - used(plane.audit.entries(mark), user))

        try:
            eventually(lambda: not unused(), "every right is used", 20)
        except AssertionError:
            raise AssertionError(f"{user} has rights that it never used: {unused()}") from None
    entries = plane.audit.entries(mark)
    assert refused(entries, user) == []


def test_dns(plane: ControlPlane) -> None:
    world, zone = World(plane, "lp-dns"), "example.test"
    declared = dns(
        DnsOptions(Rules(zones=(zone,), owner="me"), Intervals(spacing=0.05, poll=1.0)), AnsweringMemory((zone,))
    )
    with proven(plane, "dns", declared):
        spec = {"endpoints": [{"dnsName": f"www.{zone}", "recordType": "A", "targets": ["192.0.2.1"]}]}
        world.make(DNSEndpoint, "www", spec)
        world.until_condition(DNSEndpoint, "www", "Ready", "True")
        world.drop(DNSEndpoint, "www")
        world.make(DNSEndpoint, "again", spec)
        world.until_condition(DNSEndpoint, "again", "Ready", "True")


def test_loadbalancer(plane: ControlPlane) -> None:
    world, edge = World(plane, "lp-lb"), Edge(host="tcp.edge.test", domain="edge.test")
    declared = loadbalancer(LoadBalancerOptions(cluster="test", timing=TIMING), memory_edge(edge, reachable=True))

    def there(kind: type[Object], count: int) -> bool:
        hold(world, edge)
        return len(world.listed(kind)) == count

    with proven(plane, "loadbalancer", declared):
        world.make(NgrokTrafficPolicy, "policy", {"policy": {"on_tcp_connect": []}})
        ports = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": [{"port": 443}]}
        world.make(Service, "web", ports, annotations={"k8s.ngrok.com/url": "tls://shop.example.com"})
        eventually(lambda: there(AgentEndpoint, 1) and there(Domain, 1), "an endpoint, and its domain", PATIENCE)
        verbose = {"k8s.ngrok.com/mapping-strategy": "endpoints-verbose"}
        world.edit(Service, "web", {"metadata": {"annotations": verbose}})
        eventually(lambda: there(CloudEndpoint, 1), "an endpoint that the edge keeps", PATIENCE)
        world.edit(Service, "web", {"metadata": {"annotations": {"k8s.ngrok.com/description": "words"}}})
        for kind in (AgentEndpoint, CloudEndpoint):
            eventually(lambda k=kind: "'description': 'words'" in str(world.listed(k)), "it is changed", PATIENCE)  # type: ignore[misc]
        world.drop(Service, "web")
        eventually(lambda: there(Domain, 0), "its domain is gone", PATIENCE)


def hold(world: World, edge: Edge) -> None:
    """What agents do."""
    for obj in world.listed(AgentEndpoint):
        meta = obj["metadata"]
        name = f"c/{world.namespace}/{meta['name']}/{meta['uid']}/"
        if not any(item.get("name") == name for item in edge.has(Kind.ENDPOINTS)):
            edge.agent_holds(obj["spec"]["url"], name=name, generation=meta["generation"])


def test_bindings(plane: ControlPlane) -> None:
    home, users = World(plane, "lp-bindings"), World(plane, "lp-users")
    with installation(plane, home.namespace, users.namespace, judged=False) as world:
        declared = bindings(
            world.options,
            memory_edge(world.edge, reachable=True),
            certificates=PlainCertificates(),
            dial=world.network.dial,
        )
        with proven(plane, "bindings", declared):
            world.install()
            url = f"tcp://db.{users.namespace}:5432"
            ident = world.agent(url)
            world.until_ready(url)
            name = parse(url).name
            for path in (world.path(name), f"/api/v1/namespaces/{home.namespace}/services/{name}"):
                port = {"spec": {"port": 12345}} if path == world.path(name) else {"spec": {"selector": {"a": "b"}}}
                assert request(plane, "PATCH", path, port, content_type=MERGE).code == 200
            world.until_ready(url)
            world.leaves(ident)
            world.until_gone(world.path(name), "it is gone")
            secret = f"/api/v1/namespaces/{home.namespace}/secrets/default-tls"
            spoilt = {"data": {"tls.crt": "bm8gY2VydGlmaWNhdGU="}}
            assert request(plane, "PATCH", secret, spoilt, content_type=MERGE).code == 200
            world.until(lambda: world.get(secret)["data"]["tls.crt"] != spoilt["data"]["tls.crt"], "it is signed anew")
            refused_by_quota(world)


def refused_by_quota(world: Any) -> None:
    """Where something is forbidden, the server is asked whether it is for want of a right."""
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"services": "0"}}}
    path = f"/api/v1/namespaces/{world.users}/resourcequotas"
    assert request(world.plane, "POST", path, quota).code == 201
    world.until(lambda: "hard" in world.get(f"{path}/none").get("status", {}), "the quota is in force")
    url = f"tcp://other.{world.users}:5432"
    world.agent(url)
    world.until_condition(parse(url).name, "ServicesCreated", "False")


def test_gateway(plane: ControlPlane) -> None:
    World(plane, "lp-gateway")
    scene = Scene(plane, "lp-gateway")
    options = GatewayOptions(addresses=("192.0.2.0/24",), counting=0.2)
    with proven(plane, "gateway", gateway(options, MemoryDataPlane(listens=True))):
        classes = f"{GROUP}/gatewayclasses"
        eventually(lambda: request(plane, "GET", f"{classes}/kgateway").code == 200, "the class is made", PATIENCE)
        labels = request(plane, "GET", f"{classes}/kgateway").body["metadata"]["labels"]
        lost = {"metadata": {"labels": {name: None for name, value in labels.items() if not value}}}
        assert request(plane, "PATCH", f"{classes}/kgateway", lost, content_type=MERGE).code == 200
        stray = {"metadata": {"name": "stray", "labels": labels}, "spec": {"controllerName": "kgateway.dev/kgateway"}}
        kind = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass"}
        assert request(plane, "POST", classes, {**kind, **stray}).code == 201
        plane.kubectl("apply", "-n", scene.namespace, "-f", str(EVERYTHING))
        scene.until(lambda: "True" in str(scene.verdicts()), "the route is accepted")
        eventually(lambda: request(plane, "GET", f"{classes}/stray").code == 404, "what has no owner is gone", PATIENCE)


def test_gateway_with_pods(plane: ControlPlane) -> None:
    """Only what this way needs more: the Envoys, their certificate, and the Service before them, in one namespace."""
    World(plane, "lp-pods")
    World(plane, "lp-home")
    scene = Scene(plane, "lp-pods")
    cluster = Cluster(namespace="lp-home", service_type="ClusterIP")
    declared = gateway(
        GatewayOptions(cluster=cluster, controller_name="example.com/pods"), MemoryDataPlane(listens=True)
    )
    (pods,) = [one for one in declared if one.name == "gateway-infrastructure"]
    body = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "pods"}}
    made = request(plane, "POST", f"{GROUP}/gatewayclasses", {**body, "spec": {"controllerName": "example.com/pods"}})
    assert made.code == 201, made.body
    authority = {name: content.decode() for name, content in make_authority(datetime.now(UTC)).items()}
    secrets = "/api/v1/namespaces/lp-home/secrets"
    made = request(plane, "POST", secrets, {"metadata": {"name": cluster.authority}, "stringData": authority})
    assert made.code == 201, made.body
    with proven(plane, "gateway-pods", (pods,)):
        scene.gateway("front", "pods")
        deployments = "/apis/apps/v1/namespaces/lp-home/deployments"
        eventually(lambda: len(request(plane, "GET", deployments).body["items"]) == 1, "its Envoys", PATIENCE)
        eventually(lambda: len(request(plane, "GET", secrets).body["items"]) == 2, "their certificate", PATIENCE)
        scene.edit("gateways", "front", {"spec": {"infrastructure": {"labels": {"tier": "one"}}}})
        eventually(lambda: "tier" in str(request(plane, "GET", deployments).body), "they are labelled", PATIENCE)
        eventually(lambda: "tier" in str(request(plane, "GET", secrets).body), "so is their certificate", PATIENCE)
        scene.drop("gateways", "front")
        eventually(lambda: not request(plane, "GET", deployments).body["items"], "they are gone", PATIENCE)


@pytest.mark.parametrize("name", list(FAMILIES))
def test_nobody_may_do_everything_or_list_secrets(name: str) -> None:
    found = needed(FAMILIES[name].controllers(), "seamark-system")
    assert not [grant for grant in found if "*" in (grant.group, grant.resource, grant.verb)]
    secrets = {grant.verb for grant in found if grant.resource == "secrets" and not grant.namespace}
    assert not secrets & {"list", "watch", "create", "patch", "update", "delete"}
    assert not [grant for grant in found if grant.verb in ("escalate", "bind", "impersonate", "deletecollection")]


def test_the_lease(plane: ControlPlane) -> None:
    """By which replicas elect a leader, in the operator's own namespace."""
    home = World(plane, "lp-lease").namespace
    rights, mark = needed((), home), plane.audit.mark()

    async def lead() -> None:
        transport = await HttpTransport(connection(plane, "leader")).open()
        settings = LeaseSettings(duration=3, renew=0.1, margin=1)
        leader = Leader(Client(transport, manager="test"), Key(home, "seamark"), "me", SystemClock(), settings)
        running = asyncio.ensure_future(leader.run())
        try:
            await until(lambda: not rights - used(plane.audit.entries(mark), "leader"), "every right is used")
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await leader.release()
            await transport.close()

    with granted(plane, "leader", rights):
        asyncio.run(lead())
    assert refused(plane.audit.entries(mark), "leader") == []
