"""HTTPRoutes on one Gateway, each with a hostname of its own."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from typing import Any

from seamark.families.gateway.family import TRAFFIC_POLICY, controllers
from seamark.families.gateway.gatewayclass.features import SUPPORTED
from seamark.families.gateway.model.names import CONTROLLER_NAME
from seamark.families.gateway.model.options import Options
from seamark_edge.dataplane.envoy import binary
from seamark_edge.dataplane.envoy.local import LocalEnvoys
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.gateway import HTTPRoute
from seamark_runtime.api.meta import Object
from seamark_runtime.controller import Declaration
from tests.bench.scenario import Made, Sort, Targets, Write

PLANE = "SEAMARK_BENCH_DATA_PLANE"  # "envoy" has a real one take part; it has to be paid with the same cores
GATEWAY = "gateway"
VERIFY = 5.0
NEW_YEAR = "2026-01-01T00:00:00Z"
JSON_PATCH = "application/json-patch+json"


class GatewayScenario:
    crds: tuple[CRD, ...] = (TRAFFIC_POLICY,)
    watched = HTTPRoute
    children = ()
    tear_down = (HTTPRoute.RESOURCE,)
    at_rest = 3 * VERIFY
    targets = Targets(requests_per_object=1.01, time_vs_floor=1.2, cpu_ms_per_object=5.0)

    def controllers(self) -> tuple[Declaration, ...]:
        real = os.environ.get(PLANE) == "envoy"
        plane = LocalEnvoys(binary.install()) if real else MemoryDataPlane(listens=True)
        addresses = ("127.0.81.0/24",)
        return controllers(Options(addresses=addresses, verify=VERIFY, features=SUPPORTED), plane)

    def make(self, namespace: str, name: str, sort: Sort) -> Write:
        note = {"bench.seamark.dev/note": name * (1500 // len(name))} if sort is Sort.LARGE else {}
        body = {
            "apiVersion": HTTPRoute.RESOURCE.api_version,
            "kind": "HTTPRoute",
            "metadata": {"name": name, "namespace": namespace, "annotations": note},
            "spec": {
                "parentRefs": [{"name": GATEWAY}],
                "hostnames": [f"{name}.example.com"],
                "rules": [{"backendRefs": [{"name": "web", "port": 80}]}],
            },
        }
        return Write("POST", HTTPRoute.RESOURCE.path(namespace), body)

    def work(self, made: Made) -> Generator[Write, Made, None]:
        """The least: the status."""
        path = HTTPRoute.RESOURCE.path(made.namespace, made.name, "status")
        yield Write("PATCH", f"{path}?fieldManager=seamark", status_of(made), JSON_PATCH)

    def done(self, obj: HTTPRoute) -> bool:
        parents = (obj.status.parents if obj.status is not None else None) or ()
        return any(
            one.type == "Accepted" and one.status == "True" and one.observed_generation == obj.metadata.generation
            for parent in parents
            for one in parent.conditions
        )

    def owners(self, child: Object) -> Iterable[str]:
        return ()


def status_of(made: Made) -> list[dict[str, Any]]:
    said = {"status": "True", "lastTransitionTime": NEW_YEAR, "observedGeneration": made.generation}
    accepted = {"type": "Accepted", "reason": "Accepted", "message": "Successfully accepted Route"}
    resolved = {"type": "ResolvedRefs", "reason": "ResolvedRefs", "message": "Successfully resolved all references"}
    parent = {
        "parentRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": GATEWAY},
        "controllerName": CONTROLLER_NAME,
        "conditions": [{**accepted, **said}, {**resolved, **said}],
    }
    test = {"op": "test", "path": "/metadata/resourceVersion", "value": made.resource_version}
    return [test, {"op": "add", "path": "/status", "value": {"parents": [parent]}}]
