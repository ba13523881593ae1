"""The families."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import dns.query
import dns.zone

from seamark.api.dns import DNSEndpoint
from seamark.api.sample import Greeting
from seamark.api.score import Workload
from seamark.families.bindings.model.targets import parse
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.ngrok import AgentEndpoint
from seamark_runtime.api.gateway import HTTPRoute
from seamark_runtime.api.meta import Resource
from tests.cluster.kubelet_machine import ECHO
from tests.dns.servers import ADDRESS, KEY, ZONE
from tests.soak.crowd import Crowd, Json, Refused, answers, condition
from tests.soak.world import HOME, PLACE, SPACE

SERVICES = Resource("", "v1", "Service", "services")


class Greetings(Crowd):
    """The ConfigMap has the text."""

    kind = Greeting.RESOURCE
    most = 4
    ours = (frozenset(("Published", "Posted", "Ready")),)

    def spec(self, name: str, number: int) -> Json:
        return {"text": f"{name} {number}", "board": "soak"}

    def true(self, obj: Json) -> bool:
        found = self.world.get(f"/api/v1/namespaces/{SPACE}/configmaps/{obj['metadata']['name']}") or {}
        return obj["spec"]["text"] in (found.get("data") or {}).values()

    def left(self) -> Iterable[str]:
        found = self.world.get(f"/api/v1/namespaces/{SPACE}/configmaps") or {"items": []}
        return (f"ConfigMap {name}" for one in found["items"] if (name := one["metadata"]["name"]).startswith("g-"))


class Records(Crowd):
    """The name server answers with exactly these."""

    kind = DNSEndpoint.RESOURCE
    most = 4
    ours = (frozenset(("Accepted", "Ready")),)

    def spec(self, name: str, number: int) -> Json:
        targets = [f"192.0.2.{1 + number % 250}"]
        return {"endpoints": [{"dnsName": f"{name}.{ZONE}", "recordType": "A", "targets": targets}]}

    def true(self, obj: Json) -> bool:
        (wanted,) = obj["spec"]["endpoints"]
        try:
            return self.world.names.dig(wanted["dnsName"], "A") == sorted(wanted["targets"])
        except (OSError, EOFError):
            return False

    def left(self) -> Iterable[str]:
        key = KEY.key()
        transfer = dns.query.xfr(
            ADDRESS, ZONE, port=self.world.names.port, keyring={key.name: key}, keyname=key.name, timeout=10
        )
        zone = dns.zone.from_xfr(transfer)
        return (f"record {name}" for name in zone.nodes if str(name) != "@")


class Balancers(Crowd):
    """Services of type LoadBalancer: what the edge holds leads to the Pod."""

    kind = SERVICES
    exempt = frozenset((12, 16, 17))  # see tests/cluster/loadbalancer_world.py

    def spec(self, name: str, number: int) -> Json:
        ranges = {"loadBalancerSourceRanges": ["0.0.0.0/0"] if number % 2 else None}
        port = {"name": "web", "port": 80, "targetPort": 3000}
        selector = {"selector": {"app": "echo"}, "ports": [port], **ranges}
        return {"type": "LoadBalancer", "loadBalancerClass": "ngrok", **selector}

    def listed(self) -> dict[str, Json] | None:
        found = super().listed()
        ends = self.world.get(AgentEndpoint.RESOURCE.path(SPACE))
        if found is None or ends is None:
            return None
        mine = {name: one for name, one in found.items() if name.startswith("l-")}
        for one in mine.values():
            uid = one["metadata"]["uid"]
            one["endpoints"] = [each for each in ends["items"] if uid in owners(each)]
        return mine

    def reports_ready(self, obj: Json) -> bool:
        ready = [super(Balancers, self).reports_ready(each) for each in obj["endpoints"]]
        status = obj.get("status") or {}
        assigned = [one["status"] for one in status.get("conditions") or () if one["type"].endswith("/AddressAssigned")]
        return bool(ready) and all(ready) and assigned == ["True"] and bool(place(obj))

    def true(self, obj: Json) -> bool:
        host, port = place(obj)
        return answers(host, port)

    def left(self) -> Iterable[str]:
        ends = self.world.get(AgentEndpoint.RESOURCE.path(SPACE)) or {"items": []}
        yield from (f"AgentEndpoint {one['metadata']['name']}" for one in ends["items"] if owners(one))
        yield from (
            f"address {one['addr']}" for one in self.world.edge.api("GET", "/reserved_addrs")[1]["reserved_addrs"]
        )
        yield from (f"Service {name}" for name in self.listed() or ())


class Bound(Crowd):
    """Endpoints at the edge, as Services here: a connection through the Service reaches the Pod."""

    kind = BoundEndpoint.RESOURCE
    namespace = HOME
    ours = (frozenset(("ServicesCreated", "ConnectivityVerified", "Ready")),)

    def url(self, name: str) -> str:
        return f"tcp://{name}.{SPACE}:7000"

    def make(self, name: str) -> None:
        if name in self._at_the_edge():
            return
        policy = {"on_tcp_connect": [{"actions": [{"type": "forward-internal", "config": {"url": PLACE}}]}]}
        body = {"type": "cloud", "url": self.url(name), "bindings": ["kubernetes"]}
        self._ask("POST", "/endpoints", {**body, "traffic_policy": json.dumps(policy)}, 201)

    def change(self, name: str, number: int) -> None:
        """One leaves, and is back at once."""
        if name in self._at_the_edge():
            self.drop(name)
            self.make(name)

    def drop(self, name: str) -> None:
        if found := self._at_the_edge().get(name):
            self._ask("DELETE", f"/endpoints/{found}", None, 204)

    def listed(self) -> dict[str, Json] | None:
        found = super().listed()
        return found and {one["spec"]["target"]["service"]: one for one in found.values()}

    def true(self, obj: Json) -> bool:
        name = parse(obj["spec"]["endpointURL"]).name
        service = self.world.get(f"/api/v1/namespaces/{HOME}/services/{name}")
        return service is not None and answers(service["spec"]["clusterIP"], obj["spec"]["target"]["port"])

    def left(self) -> Iterable[str]:
        yield from (f"BoundEndpoint {name}" for name in self.listed() or ())
        for namespace in (HOME, SPACE):
            found = self.world.get(f"/api/v1/namespaces/{namespace}/services") or {"items": []}
            for one in found["items"]:
                if (name := one["metadata"]["name"]).startswith(("b-", "ngrok-")):
                    yield f"Service {namespace}/{name}"

    def _at_the_edge(self) -> dict[str, str]:
        found = self._ask("GET", "/endpoints", None, 200)["endpoints"]
        cloud = (one for one in found if one["type"] == "cloud")
        return {one["url"].removeprefix("tcp://").partition(".")[0]: one["id"] for one in cloud}

    def _ask(self, method: str, path: str, body: object, good: int) -> Any:
        try:
            code, answer = self.world.edge.api(method, path, body)
        except OSError as error:
            raise Refused from error
        assert code in (good, 404, 409), answer
        return answer


class Workloads(Crowd):
    """From a Score file to Pods that answer."""

    kind = Workload.RESOURCE
    most = 1  # each is a Pod of its own
    ours = (frozenset(("Ready", "InputsValid", "ClaimsReady")), frozenset(("RuntimeReady",)))

    def spec(self, name: str, number: int) -> Json:
        probe = {"httpGet": {"path": "/healthz", "port": 3000}}
        main = {"image": ECHO, "variables": {"NUMBER": str(number)}, "readinessProbe": probe}
        return {"containers": {"main": main}, "service": {"ports": [{"name": "web", "port": 80, "targetPort": 3000}]}}

    def true(self, obj: Json) -> bool:
        service = self.world.get(f"/api/v1/namespaces/{SPACE}/services/{obj['metadata']['name']}")
        return service is not None and answers(service["spec"]["clusterIP"], 80)

    def left(self) -> Iterable[str]:
        kinds = ("workloads", "workloadplans", "workloadexposures", "resourceclaims")
        paths = [f"/apis/score.dev/v1b1/namespaces/{SPACE}/{one}" for one in kinds]
        paths += [f"/apis/apps/v1/namespaces/{SPACE}/deployments", f"/api/v1/namespaces/{SPACE}/services"]
        for path in paths:
            for one in (self.world.get(path) or {"items": []})["items"]:
                if (name := one["metadata"]["name"]).startswith("w-"):
                    yield f"{path.rpartition('/')[2]} {name}"


class Routes(Crowd):
    """Envoy answers under the route's host."""

    kind = HTTPRoute.RESOURCE
    exempt = frozenset((17,))  # the Gateway API's own definitions have another first statement

    def spec(self, name: str, number: int) -> Json:
        rule = {"backendRefs": [{"name": "echo", "port": 80, "weight": 1 + number % 5}]}
        return {"parentRefs": [{"name": "gateway"}], "hostnames": [f"{name}.example.com"], "rules": [rule]}

    def reports_ready(self, obj: Json) -> bool:
        gateway = self._gateway()
        parents = (obj.get("status") or {}).get("parents") or ()
        good = [condition(one, kind, obj) == "True" for one in parents for kind in ("Accepted", "ResolvedRefs")]
        return bool(good) and all(good) and condition(gateway.get("status") or {}, "Programmed", gateway) == "True"

    def true(self, obj: Json) -> bool:
        addresses: Any = (self._gateway().get("status") or {}).get("addresses") or ()
        return bool(addresses) and answers(addresses[0]["value"], 80, obj["spec"]["hostnames"][0])

    def left(self) -> Iterable[str]:
        return (f"HTTPRoute {name}" for name in self.listed() or ())

    def _gateway(self) -> Json:
        path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{SPACE}/gateways/gateway"
        return self.world.get(path) or {"metadata": {}}


def owners(obj: Json) -> list[str]:
    return [one["uid"] for one in obj["metadata"].get("ownerReferences") or ()]


def place(obj: Json) -> tuple[str, int]:
    ingress: Any = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return (ingress[0].get("hostname") or ingress[0]["ip"], ingress[0]["ports"][0]["port"]) if ingress else ("", 0)


CROWDS: dict[str, type[Crowd]] = {
    "g": Greetings,
    "d": Records,
    "l": Balancers,
    "b": Bound,
    "w": Workloads,
    "r": Routes,
}
