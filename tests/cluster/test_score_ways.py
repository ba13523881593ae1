"""The ways to a Workload on a real API server: load balancers, Ingresses, routes; the test plays those who serve them.

Names are looked up in a list of the test's own; attempts to reach an endpoint are real. The rules are those of
docs/spec/score/runtime.md.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.score.family import CRDS, runtime_controllers, without_runtime
from seamark.families.score.model.options import Options
from seamark.families.score.remote import answers
from seamark.families.score.workloadexposure.state import Dial, Lookup, Probe
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.errors import Retry
from seamark_runtime.resolver import Resolver
from tests.cluster.gateway_operator import prepare
from tests.cluster.requests import install
from tests.cluster.score_kubernetes import Kubernetes
from tests.cluster.score_operator import Running, running

TIME = "2026-01-01T00:00:00Z"
KNOWN: set[str] = set()  # host names that have an address


async def attempt(action: Probe | Lookup | Dial) -> bool:
    if isinstance(action, Dial):
        return True
    if isinstance(action, Probe):
        return await answers(action) if action.host.startswith("127.") else True
    if action.host not in KNOWN:
        raise Retry(f"{action.host} has no address in DNS")
    return True


@pytest.fixture(scope="module")
def at_work(control_plane: ControlPlane) -> Iterator[Running]:
    prepare(control_plane)  # the Gateway API's own kinds
    for crd in (*CRDS, DNS_ENDPOINT):
        install(control_plane, crd)
    with running(
        control_plane, (*without_runtime(), *runtime_controllers(Options(inside=True), Resolver(), attempt=attempt))
    ) as operator:
        yield operator


def local(cluster: Kubernetes) -> str:
    return f"http://app.{cluster.namespace}.svc.cluster.local:80"


def workload(cluster: Kubernetes, **spec: Any) -> None:
    cluster.apply(service={"ports": [{"name": "web", "port": 80}]}, **spec)
    cluster.pods_are("True")
    cluster.until_endpoint(local(cluster))


class Hello(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002  the library's own name


@contextmanager
def answering() -> Iterator[int]:
    """Something that answers at 127.0.0.1, at the port that is given."""
    for port in range(18080, 18200):
        try:
            server = HTTPServer(("127.0.0.1", port), Hello)
            break
        except OSError:
            continue
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_load_balancer_is_published_with_its_address_and_tried(cluster: Kubernetes) -> None:
    workload(cluster)
    cluster.until_condition("Ready", "True")
    with answering() as port:
        spec: dict[str, Any] = {"type": "LoadBalancer", "selector": {"score.dev/workload": "app"}}
        spec |= {"ports": [{"name": "http", "port": port}]}
        cluster.make("core:services", {"metadata": {"name": "public"}, "spec": spec})
        cluster.until_condition("RuntimeReady", "False", "NetworkUnavailable")
        assert cluster.runtime_condition("LBPending")["status"] == "True"
        assert cluster.endpoint() == local(cluster)
        cluster.status("core:services/public", {"loadBalancer": {"ingress": [{"ip": "127.0.0.1"}]}})
        url = f"http://127.0.0.1:{port}"
        cluster.until_endpoint(url)
        cluster.until(lambda: cluster.exposures()[0].get("reachable") is True, "it answers")
        assert cluster.exposures()[0] == {
            "url": url,
            "priority": 50,
            "scope": "VPC",
            "schemeHint": "HTTP",
            "reachable": True,
        }
        cluster.until_condition("Ready", "True")
    cluster.until_condition("RuntimeReady", "False", "RuntimeDegraded", seconds=60)
    assert cluster.exposures()[0]["reachable"] is False
    assert cluster.endpoint() == url


def test_an_ingress_is_published_when_it_has_an_address_and_its_name_an_answer(cluster: Kubernetes) -> None:
    workload(cluster)
    host = f"{cluster.namespace}.ingress.example.com"
    backend = {"service": {"name": "app", "port": {"number": 80}}}
    rule = {"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    spec = {"rules": [rule], "tls": [{"hosts": [host]}]}
    cluster.make("networking.k8s.io:ingresses", {"metadata": {"name": "front"}, "spec": spec})
    cluster.until_condition("RuntimeReady", "False", "NetworkUnavailable")
    assert cluster.runtime_condition("IngressPending")["reason"] == "IngressNotServed"
    cluster.status("networking.k8s.io:ingresses/front", {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}})
    cluster.until(lambda: cluster.runtime_condition("DNSNotReady")["status"] == "True", "its name has no answer")
    assert cluster.endpoint() == local(cluster)
    KNOWN.add(host)
    cluster.until_endpoint(f"https://{host}")
    cluster.until_condition("Ready", "True")


def condition(type_: str, status: str = "True", generation: int = 1) -> dict[str, Any]:
    said = {"type": type_, "status": status, "reason": "Test", "message": "", "lastTransitionTime": TIME}
    return {**said, "observedGeneration": generation}


def test_a_route_is_published_when_its_gateway_serves_it_and_taken_back_when_not(cluster: Kubernetes) -> None:
    host = f"{cluster.namespace}.route.example.com"
    listeners = [{"name": "tls", "port": 443, "protocol": "HTTPS"}]
    gateways, routes = "gateway.networking.k8s.io:gateways", "gateway.networking.k8s.io:httproutes/app.way"
    gateway = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "default"}}
    cluster.make(gateways, {**gateway, "spec": {"gatewayClassName": "test", "listeners": listeners}})
    params = {"host": host, "port": "80"}
    workload(cluster, resources={"way": {"type": "route", "params": params}})
    cluster.until(lambda: bool(cluster.object(routes)), "a route")
    cluster.until_condition("RuntimeReady", "False", "NetworkUnavailable")
    assert cluster.runtime_condition("IngressPending")["reason"] == "RouteNotServed"
    KNOWN.add(host)
    parent = {
        "parentRef": {"name": "default"},
        "controllerName": "example.com/test",
        "conditions": [condition("Accepted")],
    }
    cluster.status(routes, {"parents": [parent]})
    cluster.status(f"{gateways}/default", {"conditions": [condition("Programmed")]})
    cluster.until_endpoint(f"https://{host}")
    cluster.until_condition("Ready", "True")
    assert [(one["scope"], one.get("priority", 0)) for one in cluster.exposures()] == [
        ("Public", 100),
        ("ClusterLocal", 0),
    ]
    cluster.status(f"{gateways}/default", {"conditions": [condition("Programmed", "False")]})
    cluster.until_endpoint(local(cluster))
    cluster.until_condition("RuntimeReady", "False", "NetworkUnavailable")


def test_a_dnsendpoint_that_is_not_ready_explains_why_there_is_no_answer(cluster: Kubernetes) -> None:
    host = f"{cluster.namespace}.record.example.com"
    records = "externaldns.k8s.io/v1alpha1:dnsendpoints"
    record = {"apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint", "metadata": {"name": "names"}}
    endpoint = {"dnsName": host, "recordType": "A", "targets": ["192.0.2.1"]}
    workload(cluster)
    cluster.make(records, {**record, "spec": {"endpoints": [endpoint]}})
    failed = {**condition("Ready", "False"), "message": "the server refuses the zone"}
    cluster.status(f"{records}/names", {"observedGeneration": 1, "conditions": [failed]})
    spec = {"type": "LoadBalancer", "selector": {"score.dev/workload": "app"}, "ports": [{"port": 80}]}
    cluster.make("core:services", {"metadata": {"name": "public"}, "spec": spec})
    cluster.status("core:services/public", {"loadBalancer": {"ingress": [{"hostname": host}]}})

    def explained() -> bool:
        return "DNSEndpoint names: the server refuses the zone" in cluster.runtime_condition("DNSNotReady")["message"]

    cluster.until(explained, "the record's own words")
    cluster.until_condition("RuntimeReady", "False", "NetworkUnavailable")
