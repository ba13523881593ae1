"""The gateway family on a real API server, with a fake data plane, and what users do there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from seamark.families.gateway.family import TRAFFIC_POLICY, controllers
from seamark.families.gateway.gatewayclass.features import SUPPORTED
from seamark.families.gateway.model.options import Options
from seamark.gatewayapi.bundle import definitions
from seamark_cluster.real.plane import ControlPlane
from seamark_edge.dataplane.memory import MemoryDataPlane
from tests.cluster.requests import eventually, install, request
from tests.cluster.score_operator import Running, running

GROUP = "/apis/gateway.networking.k8s.io/v1"
OURS, THEIRS = "kgateway.dev/kgateway", "example.com/other"
MERGE = "application/merge-patch+json"
Json = dict[str, Any]


def prepare(plane: ControlPlane) -> None:
    """The kinds, a class of ours and a foreign one; a second time it does nothing."""
    if request(plane, "GET", f"{GROUP}/gatewayclasses/kgateway").code == 200:
        return
    found = definitions()
    plane.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(found))
    install(plane, TRAFFIC_POLICY)
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    for name, controller in (("kgateway", OURS), ("theirs", THEIRS)):
        body = {"kind": "GatewayClass", "apiVersion": "gateway.networking.k8s.io/v1", "metadata": {"name": name}}
        made = request(plane, "POST", f"{GROUP}/gatewayclasses", {**body, "spec": {"controllerName": controller}})
        assert made.code in (201, 409), made.body


@contextmanager
def operating(control: ControlPlane, plane: MemoryDataPlane | None = None, name: str = OURS) -> Iterator[Running]:
    ranges = ("192.0.2.0/24", "198.51.100.0/24")
    options = Options(addresses=ranges, features=SUPPORTED, counting=0.2, controller_name=name)
    with running(control, controllers(options, plane or MemoryDataPlane(listens=True))) as at_work:
        yield at_work


class Scene:
    """What users and other controllers do in one namespace."""

    def __init__(self, control: ControlPlane, namespace: str) -> None:
        self.control = control
        self.namespace = namespace

    def path(self, plural: str, name: str = "", subresource: str = "") -> str:
        group = "/apis/gateway.kgateway.dev/v1alpha1" if plural == "trafficpolicies" else GROUP
        group = "/api/v1" if plural in ("services", "events", "secrets") else group
        return "/".join(filter(None, (f"{group}/namespaces/{self.namespace}/{plural}", name, subresource)))

    def make(self, plural: str, kind: str, name: str, spec: Json, version: str = "") -> None:
        version = version or ("v1" if plural == "services" else "gateway.networking.k8s.io/v1")
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
        made = request(self.control, "POST", self.path(plural), body)
        assert made.code == 201, made.body

    def gateway(self, name: str = "gateway", class_name: str = "kgateway", **spec: Any) -> None:
        listeners = [{"name": "http", "port": 80, "protocol": "HTTP"}]
        self.make("gateways", "Gateway", name, {"gatewayClassName": class_name, "listeners": listeners, **spec})

    def service(self, name: str = "web") -> None:
        self.make("services", "Service", name, {"ports": [{"port": 80}]})

    def route(self, *parents: str, name: str = "route", **spec: Any) -> None:
        rules = [{"backendRefs": [{"name": "web", "port": 80}]}]
        refs = [{"name": parent} for parent in parents]
        self.make("httproutes", "HTTPRoute", name, {"parentRefs": refs, "rules": rules, **spec})

    def policy(self, *targets: Json, name: str = "policy", **spec: Any) -> None:
        whole = {"targetRefs": [{"group": "gateway.networking.k8s.io", **one} for one in targets], **spec}
        self.make("trafficpolicies", "TrafficPolicy", name, whole, "gateway.kgateway.dev/v1alpha1")

    def edit(self, plural: str, name: str, patch: Json, subresource: str = "") -> Json:
        done = request(self.control, "PATCH", self.path(plural, name, subresource), patch, content_type=MERGE)
        assert done.code == 200, done.body
        return done.body

    def drop(self, plural: str, name: str) -> None:
        assert request(self.control, "DELETE", self.path(plural, name)).code == 200

    def get(self, plural: str, name: str) -> Json:
        return request(self.control, "GET", self.path(plural, name)).body

    def entries(self, plural: str = "httproutes", name: str = "route") -> list[Json]:
        status = self.get(plural, name).get("status") or {}
        return status.get("parents" if plural.endswith("routes") else "ancestors") or []

    def verdicts(self, plural: str = "httproutes", name: str = "route") -> dict[str, str]:
        """By parent or ancestor of ours: its conditions of the Gateway API in short, if they are about the present
        generation. Whether backends accept connections is tested where there are some (`tests/gateway`)."""
        obj = self.get(plural, name)
        found = {}
        for entry in self.entries(plural, name):
            if entry["controllerName"] == OURS:
                words = [
                    f"{one['type']}={one['status']}/{one['reason']}"
                    for one in entry["conditions"]
                    if one["observedGeneration"] == obj["metadata"]["generation"] and "/" not in one["type"]
                ]
                found[(entry.get("parentRef") or entry["ancestorRef"])["name"]] = " ".join(words)
        return found

    def conditions(self, plural: str, name: str) -> dict[str, str]:
        obj = self.get(plural, name)
        return {
            one["type"]: f"{one['status']}/{one['reason']}"
            for one in (obj.get("status") or {}).get("conditions", ())
            if one.get("observedGeneration") == obj["metadata"]["generation"]
        }

    def speak(self, entry: Json, *, instead: bool = False) -> None:
        """Another controller puts its entry in front (or in place of its last one), as careful ones do: by version."""
        while True:
            obj = self.get("httproutes", "route")
            standing = (obj.get("status") or {}).get("parents") or []
            kept = [one for one in standing if not instead or one["controllerName"] == OURS]
            body = {
                "metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]},
                "status": {"parents": [entry, *kept]},
            }
            path = self.path("httproutes", "route", "status")
            answer = request(self.control, "PATCH", path, body, content_type=MERGE)
            if answer.code == 200:
                return
            assert answer.code == 409, answer.body

    def events(self, name: str) -> list[str]:
        listed = request(self.control, "GET", self.path("events")).body["items"]
        return [one["message"] for one in listed if one["involvedObject"]["name"] == name]

    def until(self, condition: Any, what: str) -> None:
        eventually(condition, what, 60)


def foreign(name: str = "theirs") -> Json:
    said = {"type": "Accepted", "status": "True", "reason": "Theirs", "message": "", "observedGeneration": 7}
    time = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    ref = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": name}
    return {"parentRef": ref, "controllerName": THEIRS, "conditions": [{**said, **time}]}
