"""FAMILY=loadbalancer: TCP Services through a real edge, held by a real agent; and TLS ones with custom domains."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from typing import Any

from seamark.families.loadbalancer.family import CRDS, controllers
from seamark.families.loadbalancer.model.names import COMPUTED_URL, FINALIZER
from seamark.families.loadbalancer.model.options import Intervals, Options
from seamark.providers.edge.objectcache import Freshness
from seamark.providers.edge.seamark import seamark_edge
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_runtime.api.core import Service, ServicePort, ServiceSpec
from seamark_runtime.api.meta import ManagedMeta, Object, document
from seamark_runtime.client import APPLY_PATCH, MERGE_PATCH
from seamark_runtime.controller import Declaration
from tests.bench.families.loadbalancer_run import bench
from tests.bench.scenario import Made, Sort, Targets, Write

__all__ = ["SCENARIO", "bench"]

API, KEY = "SEAMARK_BENCH_EDGE_API", "SEAMARK_BENCH_EDGE_KEY"  # how the operator's process learns where the edge is
BUDGET = 120_000  # requests a minute: the edge has the same limit
POLL, VERIFY, SHELF_LIFE = 5.0, 20.0, 60.0
NEW_YEAR = "2026-01-01T00:00:00Z"
ADDRESS = "192.0.2.1"


def conditions(*rows: tuple[str, str], generation: int | None = None) -> list[dict[str, Any]]:
    observed = {} if generation is None else {"observedGeneration": generation}
    return [
        {"type": kind, "status": "True", "reason": reason, "message": "so it is", "lastTransitionTime": NEW_YEAR}
        | observed
        for kind, reason in rows
    ]


class LoadBalancerScenario:
    crds = CRDS
    watched = Service
    children = (AgentEndpoint,)
    tear_down = (Service.RESOURCE, AgentEndpoint.RESOURCE, CloudEndpoint.RESOURCE)
    at_rest = max(POLL, VERIFY)
    targets = Targets(requests_per_object=5.0, time_vs_floor=1.5, cpu_ms_per_object=10.0, rss_mb_per_1000=30.0)

    def controllers(self) -> tuple[Declaration, ...]:
        freshness = Freshness(VERIFY, SHELF_LIFE)
        provider = seamark_edge(os.environ[API], os.environ[KEY], freshness=freshness, requests_per_minute=BUDGET)
        timing = Intervals(POLL, VERIFY, SHELF_LIFE, linger=30.0)
        return controllers(Options(cluster="bench", timing=timing), provider)

    def make(self, namespace: str, name: str, sort: Sort) -> Write:
        """One of the user's: those whose names begin with `tls-` have a custom domain and are verbose."""
        notes = {"bench.seamark.dev/note": name * (1500 // len(name))} if sort is Sort.LARGE else {}
        if name.startswith("tls-"):
            url = f"tls://{name}.example.com"
            notes |= {"k8s.ngrok.com/url": url, "k8s.ngrok.com/mapping-strategy": "endpoints-verbose"}
        spec = ServiceSpec(type="LoadBalancer", load_balancer_class="ngrok", ports=(ServicePort(port=80),))
        service = Service(metadata=ManagedMeta(name=name, namespace=namespace, annotations=notes or None), spec=spec)
        return Write("POST", Service.RESOURCE.path(namespace), document(service))

    def work(self, made: Made) -> Generator[Write, Made, None]:
        """The least: the mark, the computed URL, the endpoint and its status, the Service's status."""
        path = Service.RESOURCE.path(made.namespace, made.name)
        marked = yield self._patch(path, made, {"finalizers": [FINALIZER]})
        known = yield self._patch(path, marked, {"annotations": {COMPUTED_URL: f"tcp://{ADDRESS}:20000"}})
        endpoint = yield self._endpoint(made)
        body = self._status(endpoint, AgentEndpoint)
        place = AgentEndpoint.RESOURCE.path(made.namespace, made.name)
        yield Write("PATCH", f"{place}/status?fieldManager=seamark-agentendpoints&force=true", body, APPLY_PATCH)
        body = self._status(known, Service)
        yield Write("PATCH", f"{path}/status?fieldManager=seamark-loadbalancer&force=true", body, APPLY_PATCH)

    def _patch(self, path: str, made: Made, metadata: dict[str, Any]) -> Write:
        identity = {"uid": made.uid, "resourceVersion": made.resource_version}
        return Write("PATCH", f"{path}?fieldManager=seamark", {"metadata": {**metadata, **identity}}, MERGE_PATCH)

    def _endpoint(self, made: Made) -> Write:
        owner = {"apiVersion": "v1", "kind": "Service", "name": made.name, "uid": made.uid, "controller": True}
        labels = {"ngrok.com/controller-name": "seamark", "ngrok.com/controller-namespace": "seamark-system"}
        body = {
            "apiVersion": AgentEndpoint.RESOURCE.api_version,
            "kind": "AgentEndpoint",
            "metadata": {"name": made.name, "ownerReferences": [owner], "labels": labels},
            "spec": {
                "url": f"tcp://{made.name}.{made.namespace}.internal:80",  # one that the agent can hold
                "upstream": {"url": f"tcp://{made.name}.{made.namespace}.svc.cluster.local:80"},
            },
        }
        return Write("POST", f"{AgentEndpoint.RESOURCE.path(made.namespace)}?fieldManager=seamark", body)

    def _status(self, made: Made, kind: type[Object]) -> dict[str, Any]:
        if kind is Service:
            rows = conditions(
                ("k8s.ngrok.com/Accepted", "Accepted"), ("k8s.ngrok.com/AddressAssigned", "AddressAssigned")
            )
            ingress = [{"ip": ADDRESS, "ipMode": "Proxy", "ports": [{"port": 20000, "protocol": "TCP"}]}]
            status: dict[str, Any] = {"conditions": rows, "loadBalancer": {"ingress": ingress}}
        else:
            names = ("EndpointCreated", "TrafficPolicyApplied", "DomainReady", "Ready")
            rows = conditions(*((name, name) for name in names), generation=made.generation)
            status = {"conditions": rows, "observedGeneration": made.generation, "trafficPolicy": "none"}
        return {
            "apiVersion": kind.RESOURCE.api_version,
            "kind": kind.RESOURCE.kind,
            "metadata": {"name": made.name, "namespace": made.namespace, "resourceVersion": made.resource_version},
            "status": status,
        }

    def done(self, obj: Service) -> bool:
        return obj.status is not None and bool(obj.status.load_balancer.ingress)

    def owners(self, child: Object) -> Iterable[str]:
        return (reference.uid for reference in child.metadata.owner_references or ())


SCENARIO = LoadBalancerScenario()
