"""The kinds on a real API server: what their schemas refuse, what `kubectl get` shows, and what a Service costs."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.family import CRDS, controllers
from seamark.families.loadbalancer.model.options import Intervals, Options
from seamark.providers.edge.calls import Kind
from seamark.providers.edge.memory import MemoryCalls, memory_edge
from seamark_cluster.real.plane import ControlPlane
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy
from seamark_runtime.api.core import Service
from tests.cluster.loadbalancer_world import services_recorded
from tests.cluster.operator_under_test import until, writes
from tests.cluster.recorder import recorded
from tests.cluster.requests import install, request
from tests.cluster.test_dns_kinds import running

MERGE = "application/merge-patch+json"
UPSTREAM = {"url": "tcp://web:80"}
POLICY = {"inline": {"on_tcp_connect": []}, "targetRef": {"name": "x"}}
SERVER = {"serverCertificateRef": {"name": "x"}}
TIMING = Intervals(poll=0.5, verify=5.0, shelf_life=20.0, spacing=0.05, linger=20.0, soon=0.2)


class Edge(MemoryCalls):
    """The fake in memory; tests read its state directly."""

    def has(self, kind: Kind) -> list[dict[str, Any]]:
        return list(self._objects[kind].values())


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> ControlPlane:
    for crd in CRDS:
        install(control_plane, crd)
    return control_plane


@pytest.mark.parametrize(
    ("kind", "spec", "words"),
    [
        (AgentEndpoint, {"url": "tcp://"}, "spec.upstream: Required"),
        (AgentEndpoint, {"url": "", "upstream": UPSTREAM}, "spec.url"),
        (
            AgentEndpoint,
            {"url": "tcp://", "upstream": UPSTREAM, "trafficPolicy": POLICY},
            "one of inline and targetRef",
        ),
        (AgentEndpoint, {"url": "tcp://", "upstream": UPSTREAM, "trafficPolicy": {}}, "one of inline and targetRef"),
        (AgentEndpoint, {"url": "tcp://", "upstream": {**UPSTREAM, "proxyProtocolVersion": "3"}}, "Unsupported value"),
        (AgentEndpoint, {"url": "tcp://", "upstream": {**UPSTREAM, "protocol": "http3"}}, "Unsupported value"),
        (AgentEndpoint, {"url": "tcp://", "upstream": UPSTREAM, "bindings": ["public", "internal"]}, "at most 1 item"),
        (AgentEndpoint, {"url": "tcp://x:1", "upstream": UPSTREAM, "tlsTermination": SERVER}, "is for tls:// URLs"),
        (CloudEndpoint, {"url": "tcp://x:1", "trafficPolicy": POLICY}, "one of inline, targetRef and policy"),
        (CloudEndpoint, {"url": "tcp://x:1", "trafficPolicyName": "a", "trafficPolicy": {"inline": {}}}, "give one of"),
        (Domain, {"domain": "not a host"}, "spec.domain"),
        (Domain, {"domain": "a.example.com", "reclaimPolicy": "Keep"}, "Unsupported value"),
        (NgrokTrafficPolicy, {"policy": "text"}, "must be of type object"),
    ],
)
def test_the_server_itself_refuses_what_a_schema_can_tell(
    plane: ControlPlane, namespace: str, kind: Any, spec: Any, words: str
) -> None:
    body = {
        "apiVersion": kind.RESOURCE.api_version,
        "kind": kind.RESOURCE.kind,
        "metadata": {"name": "x"},
        "spec": spec,
    }
    answer = request(plane, "POST", kind.RESOURCE.path(namespace), body)
    assert answer.code == 422, answer.body
    assert words in answer.body["message"]


def test_a_tcp_service_costs_five_writes_and_columns_tell(plane: ControlPlane, namespace: str) -> None:
    """Rules 3, 5, 9, 20 and 31 of the Service; failure 10 of others."""
    calls = Edge(host="tcp.edge.test", domain="edge.test")
    path = Service.RESOURCE.path(namespace, "web")
    spec = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": [{"port": 80}]}

    async def get(where: str) -> dict[str, Any]:
        return (await asyncio.to_thread(request, plane, "GET", where)).body

    async def assigned() -> bool:
        return bool((await get(path))["status"]["loadBalancer"].get("ingress"))

    async def held() -> bool:
        """An agent takes the endpoint, and the endpoint reports it."""
        for obj in (await get(AgentEndpoint.RESOURCE.path(namespace)))["items"]:
            meta = obj["metadata"]
            name = f"c/{namespace}/{meta['name']}/{meta['uid']}/"
            if not any(item.get("name") == name for item in calls.has(Kind.ENDPOINTS)):
                calls.agent_holds(obj["spec"]["url"], name=name, generation=meta["generation"])
            ready = [one for one in obj["status"]["conditions"] if one["type"] == "Ready"]
            return bool(ready and ready[0]["status"] == "True")
        return False

    async def story() -> None:
        declared = controllers(Options(cluster="test", timing=TIMING), memory_edge(calls, reachable=True))
        async with running(plane, declared) as operator:
            mark = plane.audit.mark()
            body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}
            made = await asyncio.to_thread(request, plane, "POST", Service.RESOURCE.path(namespace), body)
            assert made.code == 201, made.body
            await until(held, "its endpoint is ready")
            await until(assigned, "it has an address")
            await until(lambda: operator.quiet, "nothing is left to do")
            entries = [entry for entry in plane.audit.entries(mark) if entry.user == "operator"]
            done = Counter(one.rpartition("/")[0] for one in writes(entries, namespace))
            assert sum(done.values()) == 5, done
            shown = await asyncio.to_thread(plane.kubectl, "get", "svc", "web", "-n", namespace)
            assert "tcp.edge.test" in shown
            head, row = (await asyncio.to_thread(plane.kubectl, "get", "aep", "-n", namespace)).splitlines()[:2]
            assert head.split() == ["NAME", "URL", "UPSTREAM", "URL", "BINDINGS", "READY", "AGE"]
            assert "tcp://tcp.edge.test:20000" in row
            assert "True" in row
            mark, requests = plane.audit.mark(), calls.requests
            await asyncio.sleep(2)
            entries = [entry for entry in plane.audit.entries(mark) if entry.user == "operator"]
            assert writes(entries, namespace) == []
            assert calls.requests - requests <= 12  # the poll alone
            await asyncio.to_thread(request, plane, "DELETE", path)
            await until(lambda: asyncio.to_thread(lambda: request(plane, "GET", path).code == 404), "it is gone")
            assert calls.has(Kind.ADDRESSES) == []

    with (
        recorded(plane, AgentEndpoint.RESOURCE, namespace=namespace),
        services_recorded(plane, namespace),
    ):
        asyncio.run(story())
