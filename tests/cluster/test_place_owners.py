"""One namespace has a place at the edge: a real API server, edge, agent and operator, and a client that counts."""

from __future__ import annotations

import os
import secrets
import socket
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seamark.families.loadbalancer.family import CRDS, controllers
from seamark.families.loadbalancer.model.options import Intervals, Options
from seamark.providers.edge.objectcache import Freshness
from seamark.providers.edge.seamark import seamark_edge
from seamark_cluster.real.plane import ControlPlane
from seamark_edge.agent.cluster import agent_grants
from tests.cluster.requests import install, request
from tests.cluster.rights import granted
from tests.cluster.score_operator import running
from tests.edge.running import RunningEdge
from tests.edge.services import dial, eventually, read_all, says, service

AGENT = "alice"
TIMING = Intervals(poll=1.0, verify=5.0, shelf_life=15.0, spacing=0.1, linger=2.0, soon=0.5, hold=15.0)
CONNECTIONS = 40
TERMINATE = {"on_tcp_connect": [{"actions": [{"type": "terminate-tls"}]}]}

Json = dict[str, Any]


@contextmanager
def agent(plane: ControlPlane, edge: RunningEdge) -> Iterator[None]:
    """One agent for all namespaces, with the rights that the chart gives it."""
    command = ["--server", edge.address, "--ca", edge.ca, "--cluster", "--kubeconfig", str(plane.kubeconfig_of(AGENT))]
    with granted(plane, AGENT, agent_grants()):
        process = subprocess.Popen(
            [sys.executable, "-c", "from seamark.cli.agent import app; app()", *command],
            env={**os.environ, "SEAMARK_AGENT_TOKEN": edge.token},
            stdout=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            process.terminate()
            assert process.wait(20) == 0


class Tenant:
    def __init__(self, plane: ControlPlane, edge: RunningEdge) -> None:
        self.plane, self.edge = plane, edge
        self.namespace = f"tenant-{secrets.token_hex(4)}"
        assert request(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}}).code == 201

    def path(self, plural: str, name: str = "") -> str:
        root = "/api/v1" if plural == "services" else "/apis/ngrok.k8s.ngrok.com/v1alpha1"
        return f"{root}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def endpoint(self, url: str, upstream: str, policy: Json | None = None) -> None:
        spec: Json = {"url": url, "upstream": {"url": f"tcp://{upstream}"}}
        if policy is not None:
            spec["trafficPolicy"] = {"inline": policy}
        body = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "AgentEndpoint", "metadata": {"name": "web"}}
        made = request(self.plane, "POST", self.path("agentendpoints"), {**body, "spec": spec})
        assert made.code == 201, made.body

    def load_balancer(self, url: str = "") -> None:
        spec = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": [{"port": 80}]}
        metadata = {"name": "shop", "annotations": {"k8s.ngrok.com/url": url}}
        body = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
        assert request(self.plane, "POST", self.path("services"), body).code == 201

    def domain(self, name: str, host: str) -> None:
        body = {"apiVersion": "ingress.k8s.ngrok.com/v1alpha1", "kind": "Domain", "metadata": {"name": name}}
        path = self.path("domains").replace("ngrok.k8s", "ingress.k8s")
        assert request(self.plane, "POST", path, {**body, "spec": {"domain": host}}).code == 201

    def domain_reason(self, name: str) -> str:
        path = self.path("domains", name).replace("ngrok.k8s", "ingress.k8s")
        status = request(self.plane, "GET", path).body.get("status") or {}
        found: dict[str, str] = {one["type"]: one["reason"] for one in status.get("conditions", ())}
        return found.get("DomainCreated", "")

    def delete(self) -> None:
        assert request(self.plane, "DELETE", self.path("agentendpoints", "web")).code == 200

    @property
    def status(self) -> Json:
        return request(self.plane, "GET", self.path("agentendpoints", "web")).body.get("status") or {}

    def reason(self) -> str:
        found: dict[str, str] = {one["type"]: one["reason"] for one in self.status.get("conditions", ())}
        return found.get("EndpointCreated", "")

    def ready(self) -> str:
        return next((one["status"] for one in self.status.get("conditions", ()) if one["type"] == "Ready"), "")

    @property
    def shown(self) -> list[Json]:
        """What the status of its Service shows."""
        status: Json = request(self.plane, "GET", self.path("services", "shop")).body["status"]
        return (status.get("loadBalancer") or {}).get("ingress") or []

    def assigned(self) -> tuple[str, str]:
        """AddressAssigned of its Service: status and reason."""
        status = request(self.plane, "GET", self.path("services", "shop")).body["status"]
        told = (one for one in status.get("conditions", ()) if one["type"] == "k8s.ngrok.com/AddressAssigned")
        return next(((one["status"], one["reason"]) for one in told), ("", ""))

    @property
    def address(self) -> str:
        """Of its Service, once it has one."""
        return next((f"{one['ip']}:{one['ports'][0]['port']}" for one in self.shown), "")

    def held(self) -> list[str]:
        found = self.edge.api("GET", "/endpoints")[1]["endpoints"]
        return [one["url"] for one in found if f"/{self.namespace}/" in one["name"]]


@pytest.fixture
def edge(tmp_path: Path) -> Iterator[RunningEdge]:
    found = RunningEdge(tmp_path / "edge", lease_seconds=1)
    yield found
    found.close()


@pytest.fixture
def tenants(control_plane: ControlPlane, edge: RunningEdge) -> Iterator[tuple[Tenant, Tenant]]:
    """The victim and the attacker, with an operator and an agent at work for both."""
    for crd in CRDS:
        install(control_plane, crd)
    provider = seamark_edge(edge.api_url, edge.api_key, freshness=Freshness(TIMING.verify, TIMING.shelf_life))
    both = Tenant(control_plane, edge), Tenant(control_plane, edge)
    with (
        running(control_plane, controllers(Options(cluster="test", timing=TIMING), provider)),
        agent(control_plane, edge),
    ):
        yield both
    for tenant in both:
        request(control_plane, "DELETE", f"/api/v1/namespaces/{tenant.namespace}")


def answers(url: str) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for _ in range(CONNECTIONS):
        try:
            with dial(url) as client:
                found[read_all(client)] += 1
        except OSError:
            found[b"nobody"] += 1
    return found


def test_who_names_the_url_of_another_namespace_gets_none_of_its_connections(tenants: tuple[Tenant, Tenant]) -> None:
    victim, attacker = tenants
    with service(says(b"victim")) as own, service(says(b"attacker")) as foreign:
        victim.endpoint("tcp://", own)
        eventually(lambda: bool(victim.status.get("assignedURL")), "the victim's URL is reported", 60)
        url = victim.status["assignedURL"]
        attacker.endpoint(f"{url}/", foreign)
        eventually(lambda: attacker.reason() == "Taken", "the attacker's endpoint reports it", 60)
        assert answers(url) == {b"victim": CONNECTIONS}
        assert (attacker.held(), attacker.status.get("assignedURL", "")) == ([], "")
        assert victim.namespace not in str(attacker.status)
        victim.delete()
        eventually(lambda: attacker.held() == [url], "the URL that is given up is the other's", 60)
        eventually(lambda: attacker.reason() == "EndpointCreated", "and it reports that", 60)
        assert answers(url) == {b"attacker": CONNECTIONS}


def test_who_names_the_address_of_a_service_of_another_namespace_gets_none_of_its_connections(
    tenants: tuple[Tenant, Tenant],
) -> None:
    victim, attacker = tenants
    victim.load_balancer()
    eventually(lambda: bool(victim.address), "the victim's Service has an address", 60)
    url = f"tcp://{victim.address}"
    with service(says(b"attacker")) as foreign:
        attacker.endpoint(url, foreign)
        eventually(lambda: attacker.reason() == "Taken", "the attacker's endpoint reports it", 60)
        assert answers(url)[b"attacker"] == 0
        assert attacker.held() == []
        eventually(lambda: victim.held() == [url], "the victim's agent has it", 60)
        assert attacker.held() == []


def answers_for(edge: RunningEdge, host: str) -> Counter[bytes]:
    """Who answers clients of a host, at the edge's port for TLS."""
    found: Counter[bytes] = Counter()
    for _ in range(CONNECTIONS):
        try:
            raw = socket.create_connection(("127.0.0.1", edge.ports["tls_port"]), 10)
            with raw, ssl.create_default_context(cafile=edge.ca).wrap_socket(raw, server_hostname=host) as client:
                found[read_all(client)] += 1
        except OSError:
            found[b"nobody"] += 1
    return found


def test_a_wildcard_of_the_edges_domain_gets_no_connection_and_keeps_no_host(
    tenants: tuple[Tenant, Tenant], edge: RunningEdge
) -> None:
    """Places rules 4 and 10."""
    victim, attacker = tenants
    host = f"{victim.namespace}.edge.localhost"
    with service(says(b"victim")) as own, service(says(b"attacker")) as foreign:
        attacker.endpoint("tls://*.edge.localhost", foreign, TERMINATE)
        eventually(lambda: attacker.ready() == "False", "the attacker's endpoint reports that it is refused", 60)
        victim.endpoint(f"tls://{host}", own, TERMINATE)
        victim.load_balancer(f"tls://svc-{host}")
        eventually(lambda: victim.reason() == "EndpointCreated", "the victim's endpoint is there", 60)
        eventually(lambda: [one["hostname"] for one in victim.shown] == [f"svc-{host}"], "its Service as well", 60)
        assert answers_for(edge, host) == {b"victim": CONNECTIONS}
        assert answers_for(edge, f"other-{host}")[b"attacker"] == 0
        assert (attacker.held(), attacker.status.get("assignedURL", "")) == ([], "")


def test_a_service_whose_host_is_another_namespaces_has_no_address(tenants: tuple[Tenant, Tenant]) -> None:
    """Service rule 16, places rule 4."""
    victim, attacker = tenants
    with service(says(b"victim")) as own:
        victim.endpoint(f"tls://*.{victim.namespace}.edge.localhost", own)
        eventually(lambda: victim.reason() == "EndpointCreated", "the victim's wildcard is there", 60)
        attacker.load_balancer(f"tls://svc.{victim.namespace}.edge.localhost")
        eventually(lambda: attacker.assigned() == ("False", "NotAccepted"), "the attacker's Service reports it", 60)
        assert attacker.shown == []


def test_a_domain_below_the_wildcard_of_another_namespace_takes_no_host_from_it(
    tenants: tuple[Tenant, Tenant], edge: RunningEdge
) -> None:
    """Places rule 4."""
    victim, attacker = tenants
    above = f"wild.{victim.namespace}.example.test"
    with service(says(b"victim")) as own:
        victim.domain("all", f"*.{above}")
        eventually(lambda: victim.domain_reason("all") == "DomainCreated", "the wildcard is the victim's", 60)
        attacker.domain("host", f"y.{above}")
        eventually(lambda: attacker.domain_reason("host") == "DomainTaken", "the attacker's Domain reports it", 60)
        victim.endpoint(f"tls://y.{above}", own, TERMINATE)
        eventually(lambda: victim.reason() == "EndpointCreated", "the victim's endpoint is there", 60)
        assert answers_for(edge, f"y.{above}") == {b"victim": CONNECTIONS}


def test_a_service_at_a_wildcard_says_why_it_shows_no_address(tenants: tuple[Tenant, Tenant]) -> None:
    """Service rule 16."""
    tenant, _ = tenants
    tenant.load_balancer(f"tls://*.{tenant.namespace}.edge.localhost")
    eventually(lambda: tenant.assigned() == ("False", "WildcardHost"), "the Service reports it", 60)
    eventually(lambda: bool(tenant.held()), "agents have its endpoint", 60)
    assert (tenant.assigned(), tenant.shown) == (("False", "WildcardHost"), [])


def test_who_waits_for_a_url_does_not_get_it_while_its_namespace_replaces_the_endpoint(
    tenants: tuple[Tenant, Tenant], edge: RunningEdge
) -> None:
    """Places rule 11."""
    victim, attacker = tenants
    host = f"aep.{victim.namespace}.example.test"
    with service(says(b"victim")) as own, service(says(b"attacker")) as foreign:
        victim.endpoint(f"tls://{host}", own, TERMINATE)
        eventually(lambda: victim.reason() == "EndpointCreated", "the victim's endpoint is there", 60)
        attacker.endpoint(f"tls://{host}", foreign, TERMINATE)
        eventually(lambda: attacker.reason() == "Taken", "the attacker's endpoint reports it", 60)
        victim.delete()
        told = []
        for _ in range(12):
            time.sleep(0.5)
            told.append((attacker.reason(), attacker.held()))
        victim.endpoint(f"tls://{host}", own, TERMINATE)
        eventually(lambda: victim.reason() == "EndpointCreated", "the victim's endpoint is there again", 60)
        assert told == [("Taken", [])] * 12
        assert answers_for(edge, host) == {b"victim": CONNECTIONS}
        victim.delete()
        eventually(lambda: attacker.reason() == "EndpointCreated", "after the hold it is the other's", 90)
