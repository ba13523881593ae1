"""A cluster whose Services are reached through a running edge: control plane, Pods, agents, operator, all real."""

from __future__ import annotations

import base64
import json
import os
import socket
import ssl
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.family import CRDS, controllers
from seamark.families.loadbalancer.model.options import Intervals, Options
from seamark.providers.edge.objectcache import Freshness
from seamark.providers.edge.seamark import seamark_edge
from seamark_cluster.network.closed import NODE
from seamark_cluster.real.plane import ControlPlane
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy
from seamark_runtime.api.meta import Resource
from seamark_runtime.controller import Declaration
from seamark_runtime.rbac import grants, rules
from tests.cluster.kubelet_machine import Machine, a_pod, echo_deployment, running_machine
from tests.cluster.recorder import Recorder
from tests.cluster.requests import eventually, install, request
from tests.cluster.score_operator import running_as
from tests.edge.running import RunningEdge
from tests.status_rules import check

TIMING = Intervals(poll=1.0, verify=5.0, shelf_life=15.0, spacing=0.1, linger=20.0, soon=0.5)
FRESHNESS = Freshness(TIMING.verify, TIMING.shelf_life)
MERGE = "application/merge-patch+json"
AGENT = "from seamark.cli.agent import app; app()"
PLURALS = {kind.RESOURCE.plural: kind.RESOURCE for kind in (AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy, Domain)}
SERVICES = Resource("", "v1", "Service", "services")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PATIENCE = 90.0

Json = dict[str, Any]


@dataclass
class Balanced:
    """One namespace with an echo Deployment, and what people do in it."""

    machine: Machine
    edge: RunningEdge
    namespace: str = ""

    def path(self, plural: str, name: str = "", subresource: str = "") -> str:
        return PLURALS.get(plural, SERVICES).path(self.namespace, name or None, subresource)

    def get(self, plural: str, name: str) -> Json:
        answer = request(self.machine.plane, "GET", self.path(plural, name))
        return answer.body if answer.code == 200 else {}

    def listed(self, plural: str) -> list[Json]:
        found: list[Json] = request(self.machine.plane, "GET", self.path(plural)).body["items"]
        return found

    def serve(self, name: str = "echo", annotations: dict[str, str] | None = None, **spec: Any) -> Json:
        """What a new user applies: a Service of our class in front of the echo Pods."""
        whole = {
            "type": "LoadBalancer",
            "loadBalancerClass": "ngrok",
            "selector": {"app": "echo"},
            "ports": [{"name": "web", "port": 80, "targetPort": 3000}],
            **spec,
        }
        said = {f"k8s.ngrok.com/{key}": value for key, value in (annotations or {}).items()}
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "annotations": said}, "spec": whole}
        made = request(self.machine.plane, "POST", self.path("services"), body)
        assert made.code == 201, made.body
        return made.body

    def annotate(self, name: str, **annotations: str | None) -> None:
        said = {f"k8s.ngrok.com/{key.replace('_', '-')}": value for key, value in annotations.items()}
        self.patch("services", name, {"metadata": {"annotations": said}})

    def patch(self, plural: str, name: str, body: Json) -> Json:
        done = request(self.machine.plane, "PATCH", self.path(plural, name), body, content_type=MERGE)
        assert done.code == 200, done.body
        return done.body

    def policy(self, name: str, policy: Json | None) -> None:
        body = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "NgrokTrafficPolicy", "metadata": {"name": name}}
        path = self.path("ngroktrafficpolicies")
        if request(self.machine.plane, "POST", path, {**body, "spec": {"policy": policy}}).code == 409:
            self.patch("ngroktrafficpolicies", name, {"spec": {"policy": policy}})

    def terminating(self, name: str, url: str, secret: str) -> None:
        """An AgentEndpoint whose TLS ends at the agent, with a certificate of this Secret."""
        spec = {"url": url, "upstream": {"url": f"tcp://echo.{self.namespace}:80"}}
        spec |= {"tlsTermination": {"serverCertificateRef": {"name": secret}}}
        body = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "AgentEndpoint", "metadata": {"name": name}}
        made = request(self.machine.plane, "POST", self.path("agentendpoints"), {**body, "spec": spec})
        assert made.code == 201, made.body

    def secret(self, name: str, certificate: bytes, key: bytes) -> None:
        values = {"tls.crt": certificate, "tls.key": key}
        data = {field: base64.b64encode(value).decode() for field, value in values.items()}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
        self.machine.apply(body, namespace=self.namespace)

    def delete(self, plural: str, name: str) -> None:
        assert request(self.machine.plane, "DELETE", self.path(plural, name)).code == 200

    def ingress(self, name: str = "echo") -> list[tuple[str, int]]:
        entries = ((self.get("services", name).get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        return [(one.get("hostname") or one.get("ip"), port["port"]) for one in entries for port in one["ports"]]

    def address(self, name: str = "echo", ports: int = 1) -> tuple[str, int]:
        eventually(lambda: len(self.ingress(name)) == ports, f"{name} has an address", PATIENCE)
        return self.ingress(name)[0]

    def condition(self, plural: str, name: str, condition: str) -> Json:
        conditions = (self.get(plural, name).get("status") or {}).get("conditions") or ()
        return next((one for one in conditions if one["type"] == condition), {})

    def until_condition(self, plural: str, name: str, condition: str, status: str) -> Json:
        try:
            eventually(lambda: self.condition(plural, name, condition).get("status") == status, "", PATIENCE)
        except AssertionError:
            raise AssertionError(f"{condition} of {name} is not {status}: {self.get(plural, name)}") from None
        return self.condition(plural, name, condition)

    def events(self, name: str) -> list[str]:
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        found = request(self.machine.plane, "GET", path).body["items"]
        return [f"{one['reason']}: {one['note']}" for one in found if one["regarding"]["name"] == name]

    def until_heard(self, name: str, words: str) -> None:
        eventually(lambda: any(words in one for one in self.events(name)), f"{name} hears {words!r}", PATIENCE)

    def reserved(self) -> list[str]:
        return [one["addr"] for one in self.edge.api("GET", "/reserved_addrs")[1]["reserved_addrs"]]

    def agents(self, replicas: int) -> None:
        """So many agents run as Pods, as they do in a cluster."""
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/agent"
        if request(self.machine.plane, "GET", path).code == 200:
            request(self.machine.plane, "PATCH", path, {"spec": {"replicas": replicas}}, content_type=MERGE)
            return
        pod = a_pod("agent", agent_container(self.machine, self.edge, self.namespace))
        template = {"metadata": pod["metadata"] | {"name": None}, "spec": pod["spec"]}
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "agent"}}, "template": template}
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "agent"}, "spec": spec}
        made = request(self.machine.plane, "POST", f"/apis/apps/v1/namespaces/{self.namespace}/deployments", deployment)
        assert made.code == 201, made.body


def agent_container(machine: Machine, edge: RunningEdge, namespace: str) -> Json:
    arguments = ["--server", f"{NODE}:{edge.ports['agent_port']}", "--ca", edge.ca, "--cluster"]
    arguments += ["--kubeconfig", str(machine.plane.kubeconfig), "--namespace", namespace]
    environment = {"SEAMARK_AGENT_TOKEN": edge.token, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    return {
        "command": [sys.executable, "-c", AGENT, *arguments],
        "env": [{"name": name, "value": value} for name, value in environment.items()],
    }


@contextmanager
def balanced_cluster(folder: Path) -> Iterator[Balanced]:
    """The cluster and the edge; the operator comes and goes with `operating`."""
    with running_machine("--backoff=2") as machine:
        for crd in CRDS:
            install(machine.plane, crd)
        edge = RunningEdge(folder / "edge", bind=NODE, public_host=NODE, tls_port=443, lease_seconds=1)
        try:
            yield Balanced(machine, edge)
        finally:
            edge.close()


def peopled(cluster: Balanced, name: str, agents: int = 1) -> Balanced:
    """A namespace with echo Pods and agents."""
    here = Balanced(cluster.machine, cluster.edge, cluster.machine.namespace(name))
    deployment, _ = echo_deployment("echo", 1)
    here.machine.apply(deployment, namespace=name)
    here.agents(agents)
    return here


@contextmanager
def services_recorded(plane: ControlPlane, namespace: str) -> Iterator[Recorder]:
    """Every state of the Services of a namespace, judged by all rules that a kind without a generation can keep.

    Those are all but 12 and 16, about generations, and 17: there is no first statement, as there is no definition of
    ours that could make one.
    """
    recorder = Recorder(plane, SERVICES, namespace)
    recorder.start()
    try:
        yield recorder
    except BaseException:
        recorder._stop.set()
        raise
    recorder.stop()
    found = [one for history in recorder.histories.values() for one in check(history) if one.rule not in (12, 16, 17)]
    assert not found, "\n".join(map(str, found))


@contextmanager
def operating(cluster: Balanced) -> Iterator[None]:
    """The operator, with exactly the rights that follow from what it declares."""
    provider = seamark_edge(cluster.edge.api_url, cluster.edge.api_key, freshness=FRESHNESS)
    declared = controllers(Options(cluster="test", timing=TIMING), provider)
    with running_as(cluster.machine.plane, declared, account(cluster.machine.plane, declared)):
        yield


def account(plane: ControlPlane, declared: Iterable[Declaration]) -> str:
    """A ServiceAccount for these controllers; its token."""
    name, accounts = "seamark", "/api/v1/namespaces/default/serviceaccounts"
    role = {"metadata": {"name": name}, "rules": rules({grant for one in declared for grant in grants(one)})}
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }
    request(plane, "POST", accounts, {"metadata": {"name": name}})
    request(plane, "POST", f"{RBAC}/clusterroles", role)
    request(plane, "POST", f"{RBAC}/clusterrolebindings", binding)
    made = request(plane, "POST", f"{accounts}/{name}/token", {"spec": {"expirationSeconds": 3600}})
    assert made.code == 201, made.body
    token: str = made.body["status"]["token"]
    return token


# ---- clients


def fetched(connection: socket.socket) -> Json:
    """One HTTP request, answered by the echo Pod."""
    connection.sendall(b"GET /hello HTTP/1.1\r\nHost: echo\r\nConnection: close\r\n\r\n")
    data = bytearray()
    while piece := connection.recv(65536):
        data += piece
    answer: Json = json.loads(bytes(data).partition(b"\r\n\r\n")[2])
    return answer


def by_tcp(host: str, port: int) -> Json:
    with socket.create_connection((host, port), 10) as connection:
        return fetched(connection)


def by_tls(edge: RunningEdge, name: str, port: int = 443) -> Json:
    trust = ssl.create_default_context(cafile=edge.ca)
    with (
        socket.create_connection((NODE, port), 10) as plain,
        trust.wrap_socket(plain, server_hostname=name) as connection,
    ):
        return fetched(connection)


def reaches(ask: Any, *arguments: Any) -> bool:
    try:
        return bool(ask(*arguments)["path"] == "/hello")
    except (OSError, ValueError):
        return False
