"""One tenant's objects on a real API server: what they name, nest and count affects no other tenant."""

from __future__ import annotations

import base64
import http.client
import json
import secrets
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.dns.family import controllers as dns
from seamark.families.dns.model.options import Intervals
from seamark.families.dns.model.options import Options as DnsOptions
from seamark.families.dns.model.rules import Rules
from seamark.families.gateway.family import controllers as gateway
from seamark.families.gateway.model.options import Options
from seamark.families.loadbalancer.family import CRDS
from seamark.families.loadbalancer.family import controllers as loadbalancer
from seamark.families.loadbalancer.model.options import Options as LoadBalancerOptions
from seamark.providers.edge.memory import memory_edge
from seamark_cluster.real.plane import ControlPlane
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_runtime.api.core import Secret
from seamark_runtime.api.gateway import Gateway, ReferenceGrant
from seamark_runtime.api.meta import Resource
from seamark_runtime.controller import Declaration
from tests.answering import AnsweringMemory
from tests.cluster.gateway_operator import prepare
from tests.cluster.requests import eventually, install, request
from tests.cluster.rights import OPERATOR
from tests.cluster.score_operator import Running, running

Json = dict[str, Any]
ZONE = "example.test"
TIMING = Intervals(spacing=0.02, poll=1.0)
LEVELS = 1_200
NESTED = b'{"a":' * LEVELS + b"1" + b"}" * LEVELS


def declared(plane: MemoryDataPlane) -> tuple[Declaration, ...]:
    rules = Rules(zones=(ZONE,), owner="me", types=frozenset(("A", "MX")))
    return (
        *gateway(Options(addresses=("192.0.2.0/24",), counting=0.2), plane),
        *dns(DnsOptions(rules, TIMING), AnsweringMemory((ZONE,))),
        *loadbalancer(LoadBalancerOptions(), memory_edge(reachable=True)),
    )


class Tenants:
    """Two tenants: the first writes whatever it likes, the second has a Secret."""

    def __init__(self, plane: ControlPlane, hostile: str, victim: str) -> None:
        self.plane, self.hostile, self.victim = plane, hostile, victim

    def make(self, resource: Resource, name: str, spec: Json | bytes) -> None:
        head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
        raw = spec if isinstance(spec, bytes) else json.dumps(spec).encode()
        body = json.dumps(head).encode()[:-1] + b',"spec":' + raw + b"}"
        self._send("POST", resource.path(self.hostile), body, "application/json", 201)

    def patch(self, resource: Resource, name: str, change: bytes) -> None:
        self._send("PATCH", resource.path(self.hostile, name), change, "application/merge-patch+json", 200)

    def _send(self, method: str, path: str, body: bytes, media: str, expected: int) -> None:
        trust = ssl.create_default_context(cafile=str(self.plane.ca))
        connection = http.client.HTTPSConnection(urlsplit(self.plane.url).netloc, timeout=30, context=trust)
        headers = {"Authorization": f"Bearer {self.plane.user('admin').token}", "Content-Type": media}
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            assert answer.status == expected, answer.read()
        finally:
            connection.close()

    def gateway(self, name: str, secret: str = "") -> None:
        listener: Json = {"name": "l", "port": 80, "protocol": "HTTP"}
        if secret:
            listener |= {"port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": secret}]}}
        self.make(Gateway.RESOURCE, name, {"gatewayClassName": "kgateway", "listeners": [listener]})

    def secret(self, name: str) -> None:
        data = {key: base64.b64encode(b"canary").decode() for key in ("tls.crt", "tls.key")}
        body = {"metadata": {"name": name}, "type": "kubernetes.io/tls", "data": data}
        assert request(self.plane, "POST", Secret.RESOURCE.path(self.victim), body).code == 201

    def conditions(self, resource: Resource, name: str) -> dict[str, Json]:
        status = request(self.plane, "GET", resource.path(self.hostile, name)).body.get("status") or {}
        found = [*(status.get("conditions") or ()), *_of_listeners(status)]
        return {one["type"]: one for one in found}

    def events(self, name: str) -> dict[str, str]:
        listed = request(self.plane, "GET", f"/apis/events.k8s.io/v1/namespaces/{self.hostile}/events").body["items"]
        return {one["reason"]: one["note"] for one in listed if one["regarding"]["name"] == name}

    def read_secrets(self) -> list[str]:
        """Whose Secrets the operator has asked for."""
        entries = self.plane.audit.entries()
        return [one.namespace for one in entries if one.user == OPERATOR and one.resource == "secrets"]


def _of_listeners(status: Json) -> list[Json]:
    return [one for listener in status.get("listeners") or () for one in listener.get("conditions") or ()]


@pytest.fixture
def tenants(control_plane: ControlPlane, namespace: str) -> Iterator[Tenants]:
    prepare(control_plane)
    for crd in (DNS_ENDPOINT, *CRDS):
        install(control_plane, crd)
    victim = f"victim-{secrets.token_hex(4)}"
    assert request(control_plane, "POST", "/api/v1/namespaces", {"metadata": {"name": victim}}).code == 201
    yield Tenants(control_plane, namespace, victim)
    for kind in (NgrokTrafficPolicy, AgentEndpoint):  # at once: other tests list what is in the cluster
        request(control_plane, "DELETE", kind.RESOURCE.path(namespace))
    request(control_plane, "DELETE", f"/api/v1/namespaces/{victim}")


@pytest.fixture
def data_plane() -> MemoryDataPlane:
    return MemoryDataPlane(listens=True)


@pytest.fixture
def operator(tenants: Tenants, data_plane: MemoryDataPlane) -> Iterator[Running]:
    with running(tenants.plane, declared(data_plane)) as at_work:
        yield at_work


def test_a_certificate_of_another_namespace_is_not_read_by_a_path(tenants: Tenants, operator: Running) -> None:
    tenants.secret("victim-tls")
    name = f"../../{tenants.victim}/secrets/victim-tls"
    tenants.gateway("thief", name)
    termination = {"url": "tls://a.example.test", "tlsTermination": {"serverCertificateRef": {"name": name}}}
    tenants.make(AgentEndpoint.RESOURCE, "thief", {**termination, "upstream": {"url": "tcp://web:80"}})

    def refused() -> bool:
        found = tenants.conditions(Gateway.RESOURCE, "thief").get("ResolvedRefs", {})
        return found.get("status") == "False" and "valid name" in found["message"]

    eventually(refused, "the Gateway reports what is wrong with the name")
    tenants.gateway("other", "not-there")
    eventually(lambda: tenants.hostile in tenants.read_secrets(), "the tenant's own Secrets are asked for")
    assert tenants.victim not in tenants.read_secrets()
    assert operator.operator.missing() == []


def test_a_policy_nested_too_deep_says_so_and_the_others_are_served(
    tenants: Tenants, data_plane: MemoryDataPlane
) -> None:
    policy = NgrokTrafficPolicy.RESOURCE
    told = "ignores it until it changes: more than 100 levels of nested maps and lists"
    with running(tenants.plane, declared(data_plane)) as first:
        tenants.make(policy, "deep", b'{"policy":{"on_http_request":[' + NESTED + b"]}}")
        tenants.make(policy, "surrogate", b'{"policy":{"a":"\\ud800"}}')
        endpoint = b'{"url":"tcp://","upstream":{"url":"tcp://web:80"},"trafficPolicy":{"inline":' + NESTED + b"}}"
        tenants.make(AgentEndpoint.RESOURCE, "deep-endpoint", endpoint)
        for name in ("deep", "deep-endpoint"):
            eventually(lambda name=name: told in tenants.events(name).get("Unreadable", ""), f"{name} says so")  # type: ignore[misc]
        tenants.gateway("good")
        eventually(lambda: _status(tenants, "good") == "True", "others are served")
        assert first.operator.missing() == []
    with running(tenants.plane, declared(data_plane)) as again:
        tenants.gateway("later")
        eventually(lambda: _status(tenants, "later") == "True", "others are served after a restart")
        assert again.operator.missing() == []
        broken = {key.name for informer in again.operator.informers.values() for key in informer.broken}
        assert broken == {"deep", "deep-endpoint"}
        request(tenants.plane, "DELETE", policy.path(tenants.hostile, "deep"))
        eventually(lambda: len(_broken(again)) == 1, "what is gone is not broken any more")


def test_an_object_that_becomes_unreadable_is_released_when_it_is_deleted(tenants: Tenants, operator: Running) -> None:
    resource = CloudEndpoint.RESOURCE
    path = resource.path(tenants.hostile, "kept")
    tenants.make(resource, "kept", {"url": "https://kept.example.test", "trafficPolicy": {"inline": {}}})
    eventually(lambda: _finalizers(tenants.plane, path) != [], "the endpoint has our finalizer")
    tenants.patch(resource, "kept", b'{"spec":{"trafficPolicy":{"inline":' + NESTED + b"}}}")
    eventually(lambda: "Unreadable" in tenants.events("kept"), "the endpoint reports that it can't be read")
    request(tenants.plane, "DELETE", path)
    eventually(lambda: request(tenants.plane, "GET", path).code == 404, "the endpoint is gone")
    assert _broken(operator) == []
    assert operator.operator.missing() == []


def _finalizers(plane: ControlPlane, path: str) -> list[str]:
    return list(request(plane, "GET", path).body["metadata"].get("finalizers") or ())


def _status(tenants: Tenants, name: str) -> str:
    return str(tenants.conditions(Gateway.RESOURCE, name).get("Accepted", {}).get("status", ""))


def _broken(at_work: Running) -> list[str]:
    return [key.name for informer in at_work.operator.informers.values() for key in list(informer.broken)]


def test_a_preference_of_thousands_of_digits_is_told_and_ends_nothing(tenants: Tenants, operator: Running) -> None:
    def endpoint(name: str, target: str, type_: str = "MX") -> None:
        record = {"dnsName": f"{name}.{ZONE}", "recordType": type_, "targets": [target]}
        tenants.make(DNSEndpoint.RESOURCE, name, {"endpoints": [record]})

    endpoint("huge", "9" * 5_000 + " mail.example.test.")
    endpoint("long", "9" * 1_000 + " mail.example.test.")
    endpoint("good", "192.0.2.1", "A")

    def ready(name: str) -> str:
        return str(tenants.conditions(DNSEndpoint.RESOURCE, name).get("Ready", {}).get("status", ""))

    eventually(lambda: ready("good") == "True", "others are served")
    eventually(lambda: ready("huge") == "False", "the endpoint reports what is wrong")
    eventually(lambda: ready("long") == "False", "the endpoint reports what is wrong")
    assert "at most 2048" in tenants.conditions(DNSEndpoint.RESOURCE, "huge")["Ready"]["message"]
    assert "0 to 65535" in tenants.conditions(DNSEndpoint.RESOURCE, "long")["Ready"]["message"]
    assert operator.operator.missing() == []


def test_a_control_character_does_not_keep_a_status_from_being_written(tenants: Tenants, operator: Running) -> None:
    """The API server parses an apply as YAML, which refuses most control characters that JSON takes as they are."""
    name = f"a\x7f\x80b.{ZONE}"
    record = {"dnsName": name, "recordType": "A", "targets": ["192.0.2.1"], "setIdentifier": "\x7f"}
    tenants.make(DNSEndpoint.RESOURCE, "controls", {"endpoints": [record]})

    def ready() -> str:
        return str(tenants.conditions(DNSEndpoint.RESOURCE, "controls").get("Ready", {}).get("status", ""))

    eventually(lambda: ready() == "False", "the endpoint reports what is wrong")


def test_a_forward_to_the_endpoint_of_another_namespace_takes_a_grant_there(
    tenants: Tenants, operator: Running
) -> None:
    url = f"tcp://{tenants.victim}.internal:5432"
    theirs = {"url": url, "upstream": {"url": "tcp://db:5432"}}
    body = {"metadata": {"name": "db"}, "spec": theirs}
    head = {"apiVersion": AgentEndpoint.RESOURCE.api_version, "kind": "AgentEndpoint"}
    path = AgentEndpoint.RESOURCE.path(tenants.victim)
    assert request(tenants.plane, "POST", path, {**head, **body}).code == 201
    forward = {"on_tcp_connect": [{"actions": [{"type": "forward-internal", "config": {"url": url}}]}]}
    spec = {"url": "https://front.example.test", "trafficPolicy": {"inline": forward}}
    tenants.make(CloudEndpoint.RESOURCE, "front", spec)

    def created() -> str:
        found = tenants.conditions(CloudEndpoint.RESOURCE, "front").get("CloudEndpointCreated", {})
        return str(found.get("reason", ""))

    eventually(lambda: created() == "ForwardNotAllowed", "the endpoint reports that its forward is not allowed")
    group = CloudEndpoint.RESOURCE.group
    from_ = {"group": group, "kind": "CloudEndpoint", "namespace": tenants.hostile}
    grant = {"from": [from_], "to": [{"group": group, "kind": "AgentEndpoint"}]}
    head = {"apiVersion": ReferenceGrant.RESOURCE.api_version, "kind": "ReferenceGrant"}
    body = {"metadata": {"name": "for-them"}, "spec": grant}
    path = ReferenceGrant.RESOURCE.path(tenants.victim)
    assert request(tenants.plane, "POST", path, {**head, **body}).code == 201
    eventually(lambda: created() == "CloudEndpointCreated", "with the grant the edge has it")
    request(tenants.plane, "DELETE", ReferenceGrant.RESOURCE.path(tenants.victim, "for-them"))
    eventually(lambda: created() == "ForwardNotAllowed", "without the grant it is closed again")
    request(tenants.plane, "DELETE", CloudEndpoint.RESOURCE.path(tenants.hostile, "front"))
    assert operator.operator.missing() == []
