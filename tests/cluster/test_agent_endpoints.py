"""`seamark agent --cluster`: AgentEndpoints of a real API server, held at a running edge by several replicas."""

from __future__ import annotations

import base64
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from seamark.families.loadbalancer.family import CRDS
from seamark_cluster.real.plane import ControlPlane
from tests.cluster.requests import install, request
from tests.edge.running import RunningEdge
from tests.edge.services import dial, echo, eventually, free_port, read_all, says, service
from tests.edge.tls import pair, server_tls

MERGE = "application/merge-patch+json"
AGENT = "alice"  # may do what the role below says, and nothing else
RULES = [
    {
        "apiGroups": ["ngrok.k8s.ngrok.com"],
        "resources": ["agentendpoints", "ngroktrafficpolicies"],
        "verbs": ["get", "list", "watch"],
    },
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system"], "verbs": ["get"]},
]


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEdge]:
    running = RunningEdge(tmp_path_factory.mktemp("edge") / "state")
    yield running
    running.close()


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> ControlPlane:
    for crd in CRDS:
        install(control_plane, crd)
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    role = {"metadata": {"name": "seamark-agent"}, "rules": RULES}
    request(control_plane, "POST", f"{rbac}/clusterroles", role)
    binding = {
        "metadata": {"name": "seamark-agent"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "seamark-agent"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": AGENT}],
    }
    request(control_plane, "POST", f"{rbac}/clusterrolebindings", binding)
    return control_plane


class Cluster:
    """Objects of one namespace, and agents that follow them."""

    def __init__(self, plane: ControlPlane, namespace: str, edge: RunningEdge) -> None:
        self.plane, self.namespace, self.edge = plane, namespace, edge

    def path(self, plural: str, name: str = "") -> str:
        root = "/api/v1" if plural == "secrets" else "/apis/ngrok.k8s.ngrok.com/v1alpha1"
        return f"{root}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def make(self, plural: str, name: str, **fields: Any) -> dict[str, Any]:
        kinds = {
            "agentendpoints": {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "AgentEndpoint"},
            "ngroktrafficpolicies": {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "NgrokTrafficPolicy"},
            "secrets": {"apiVersion": "v1", "kind": "Secret"},
        }
        body = {**kinds[plural], "metadata": {"name": name}, **fields}
        made = request(self.plane, "POST", self.path(plural), body)
        assert made.code == 201, made.body
        return made.body

    def endpoint(self, name: str, url: str, upstream: str, **spec: Any) -> dict[str, Any]:
        return self.make("agentendpoints", name, spec={"url": url, "upstream": {"url": upstream}, **spec})

    def secret(self, name: str, **files: bytes) -> None:
        data = {field.replace("_", "."): base64.b64encode(value).decode() for field, value in files.items()}
        path = self.path("secrets", name)
        if request(self.plane, "PATCH", path, {"data": data}, content_type=MERGE).code == 404:
            self.make("secrets", name, data=data)

    def change(self, name: str, **spec: Any) -> int:
        changed = request(self.plane, "PATCH", self.path("agentendpoints", name), {"spec": spec}, content_type=MERGE)
        assert changed.code == 200, changed.body
        generation: int = changed.body["metadata"]["generation"]
        return generation

    def delete(self, plural: str, name: str) -> None:
        assert request(self.plane, "DELETE", self.path(plural, name)).code == 200

    def held(self, name: str) -> list[dict[str, Any]]:
        """What the edge's API says is held for this endpoint."""
        found = self.edge.api("GET", "/endpoints")[1]["endpoints"]
        return [one for one in found if f"/{self.namespace}/{name}/" in one["name"]]

    def reports(self, name: str, message: str) -> None:
        """Wait until this is what the edge's API reports of why no agent holds the endpoint."""

        def reported() -> str:
            sessions = self.edge.api("GET", "/tunnel_sessions")[1]["tunnel_sessions"]
            refused = [each for session in sessions for each in session["refused_endpoints"]]
            return next((each["message"] for each in refused if f"/{self.namespace}/{name}/" in each["name"]), "")

        eventually(lambda: reported().startswith(message) and bool(message) == bool(reported()), message, 30, reported)

    def holds(self, name: str, replicas: int = 1, **fields: Any) -> list[dict[str, Any]]:
        """Wait until so many replicas hold it, with these fields."""

        def all_of_them() -> bool:
            found = self.held(name)
            same = all(one[field] == value for one in found for field, value in fields.items())
            return len(found) == replicas and same

        eventually(all_of_them, f"{name} is held by {replicas}", 30, lambda: str(self.held(name)))
        return self.held(name)

    @contextmanager
    def agent(self, *arguments: str) -> Iterator[int]:
        """A replica; gives the port of its health server."""
        health = free_port()
        kubeconfig = str(self.plane.kubeconfig_of(AGENT))
        command = ["--server", self.edge.address, "--ca", self.edge.ca, "--cluster", "--kubeconfig", kubeconfig]
        command += ["--namespace", self.namespace, "--health-address", f"127.0.0.1:{health}", *arguments]
        process = subprocess.Popen(
            [sys.executable, "-c", "from seamark.cli.agent import app; app()", *command],
            env={**os.environ, "SEAMARK_AGENT_TOKEN": self.edge.token, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.DEVNULL,
        )
        try:
            yield health
        finally:
            process.terminate()
            assert process.wait(20) == 0


@pytest.fixture
def cluster(plane: ControlPlane, namespace: str, edge: RunningEdge) -> Cluster:
    return Cluster(plane, namespace, edge)


def ask(url: str) -> bytes:
    with dial(url) as client:
        return read_all(client)


def test_replicas_hold_an_endpoint_together_at_an_address_that_the_edge_chose(cluster: Cluster) -> None:
    with service(says(b"web")) as upstream, cluster.agent() as health, cluster.agent():
        made = cluster.endpoint("web", "tcp://", f"tcp://{upstream}", description="a shop", metadata={"team": "a"})
        one, two = cluster.holds("web", 2)
        assert one["url"] == two["url"]
        assert one["tunnel_session"] != two["tunnel_session"]
        assert (one["name"].split("/")[1:], one["generation"]) == (
            [cluster.namespace, "web", made["metadata"]["uid"], ""],
            1,
        )
        assert (one["description"], one["metadata"], one["upstream_url"]) == (
            "a shop",
            '{"team":"a"}',
            f"tcp://{upstream}",
        )
        assert ask(one["url"]) == b"web"
        with socket.create_connection(("127.0.0.1", health), 5) as probe:
            probe.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
            assert b" 200 " in read_all(probe)
        cluster.delete("agentendpoints", "web")
        cluster.holds("web", 0)
        with pytest.raises(ConnectionRefusedError):
            dial(one["url"])


def test_a_changed_endpoint_turns_no_connection_away(cluster: Cluster) -> None:
    answers: list[bytes] = []
    failures: list[Exception] = []
    over = threading.Event()

    def keep_asking(url: str) -> None:
        while not over.is_set():
            try:
                answers.append(ask(url))
            except OSError as error:
                failures.append(error)

    with service(says(b"old")) as old, service(says(b"new")) as new, cluster.agent(), cluster.agent():
        cluster.endpoint("web", "tcp://", f"tcp://{old}")
        url = cluster.holds("web", 2)[0]["url"]
        asking = threading.Thread(target=keep_asking, args=(url,))
        asking.start()
        try:
            eventually(lambda: b"old" in answers, "it serves")
            generation = cluster.change("web", upstream={"url": f"tcp://{new}"})
            cluster.holds("web", 2, generation=generation, upstream_url=f"tcp://{new}", url=url)
            eventually(lambda: answers[-1] == b"new", "the new service answers")
        finally:
            over.set()
            asking.join()
    assert failures == []
    assert set(answers) == {b"old", b"new"}


def test_a_policy_is_followed_by_name_and_one_that_is_missing_holds_nothing_back_but_its_endpoint(
    cluster: Cluster,
) -> None:
    deny = {"on_tcp_connect": [{"actions": [{"type": "deny"}]}]}
    with service(says(b"in")) as upstream, cluster.agent():
        cluster.endpoint("guarded", "tcp://", f"tcp://{upstream}", trafficPolicy={"targetRef": {"name": "door"}})
        cluster.endpoint("open", "tcp://", f"tcp://{upstream}")
        cluster.holds("open")
        assert cluster.held("guarded") == []
        cluster.make("ngroktrafficpolicies", "door", spec={"policy": deny})
        (held,) = cluster.holds("guarded")
        assert "deny" in held["traffic_policy"]
        with suppress(ConnectionResetError):
            assert ask(held["url"]) == b""
        path = cluster.path("ngroktrafficpolicies", "door")
        request(cluster.plane, "PATCH", path, {"spec": {"policy": {"on_tcp_connect": []}}}, content_type=MERGE)

        def lets_in() -> bool:
            return ask(held["url"]) == b"in"

        eventually(lets_in, "the changed policy is in force", 30)


def test_what_the_edge_refuses_is_told_for_its_generation_and_asked_for_again(cluster: Cluster) -> None:
    host = f"{cluster.namespace}.example.com"

    def refused() -> list[dict[str, Any]]:
        sessions = cluster.edge.api("GET", "/tunnel_sessions")[1]["tunnel_sessions"]
        found = [one for session in sessions for one in session["refused_endpoints"]]
        return [one for one in found if f"/{cluster.namespace}/shop/" in one["name"]]

    with service(says(b"x")) as upstream, cluster.agent():
        cluster.endpoint("shop", f"https://{host}", f"http://{upstream}")
        eventually(lambda: refused() != [], "the refusal is reported", 30)
        (told,) = refused()
        assert (told["generation"], told["url"], told["code"]) == (1, f"https://{host}", "ERR_NGROK_320")
        assert "not reserved" in told["message"]
        assert cluster.edge.api("POST", "/reserved_domains", {"domain": host})[0] == 201
        cluster.holds("shop")
        assert refused() == []


def test_tls_ends_at_the_agent_with_certificates_of_the_cluster(cluster: Cluster, tmp_path: Path) -> None:
    """With the PROXY header in front, clients that prove who they are, and a certificate that is exchanged."""
    host = f"{cluster.namespace}.edge.localhost"
    client_pair = pair("client")
    (tmp_path / "client.pem").write_bytes(b"\n".join(client_pair))

    def put(name: str) -> str:
        certificate, key = pair(host)
        cluster.secret("served", tls_crt=certificate, tls_key=key)
        (tmp_path / name).write_bytes(certificate)
        return str(tmp_path / name)

    def talk(ca: str, certificate: str = "") -> bytes:
        context = ssl.create_default_context(cafile=ca)
        if certificate:
            context.load_cert_chain(certificate)
        raw = socket.create_connection(("127.0.0.1", cluster.edge.ports["tls_port"]), 10)
        with raw, context.wrap_socket(raw, server_hostname=host) as client:
            client.sendall(b"plain behind")
            got = b""
            while not got.endswith(b"plain behind"):
                piece = client.recv(1000)
                if not piece:
                    raise ConnectionAbortedError("closed without a word")
                got += piece
            return got

    first = put("first.pem")
    cluster.secret("clients", ca_crt=client_pair[0])
    termination = {
        "serverCertificateRef": {"name": "served"},
        "mutualTLS": {"clientCAsRef": {"name": "clients"}, "mode": "require"},
    }
    with service(echo) as upstream, cluster.agent():
        cluster.make(
            "agentendpoints",
            "secure",
            spec={
                "url": f"tls://{host}",
                "upstream": {"url": f"tcp://{upstream}", "proxyProtocolVersion": "1"},
                "tlsTermination": termination,
            },
        )
        cluster.holds("secure")
        answer = talk(first, str(tmp_path / "client.pem"))
        assert answer.startswith(b"PROXY TCP4 127.0.0.1 ")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            talk(first)
        second = put("second.pem")

        def exchanged() -> bool:
            try:
                return b"PROXY" in talk(second, str(tmp_path / "client.pem"))
            except ssl.SSLError:
                return False

        eventually(exchanged, "the exchanged certificate is served", 60)


@pytest.mark.parametrize("proxy", ["", "2"])
def test_a_service_with_tls_is_shown_the_certificate_that_the_endpoint_names(
    cluster: Cluster, tmp_path: Path, proxy: str
) -> None:
    context, ca = server_tls(tmp_path, "127.0.0.1")
    certificate, key = pair("the agent")
    (tmp_path / "client-ca.pem").write_bytes(certificate)
    context.load_verify_locations(tmp_path / "client-ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED

    def talk(raw: socket.socket) -> None:
        before = raw.recv(28, socket.MSG_WAITALL) if proxy else b""
        with context.wrap_socket(raw, server_side=True) as secure:
            shown = secure.getpeercert(binary_form=True)
            secure.sendall((b"known " if shown else b"unknown ") + (b"proxied" if before[:4] == b"\r\n\r\n" else b""))
            secure.unwrap()  # an end without it is a cut-off, and passed on as one

    cluster.secret("mine", tls_crt=certificate, tls_key=key)
    with service(talk) as upstream, cluster.agent("--upstream-ca", ca):
        spec: dict[str, Any] = {"url": f"tls://{upstream}"}
        spec |= {"proxyProtocolVersion": proxy} if proxy else {}
        body = {"url": "tcp://", "upstream": spec, "clientCertificateRefs": [{"name": "mine"}]}
        cluster.make("agentendpoints", "behind", spec=body)
        (held,) = cluster.holds("behind")
        assert ask(held["url"]) == (b"known proxied" if proxy else b"known ")


def test_a_missing_secret_is_no_endpoint_and_its_coming_makes_one(cluster: Cluster) -> None:
    with service(echo) as upstream, cluster.agent():
        termination = {"serverCertificateRef": {"name": "later"}}
        host = f"{cluster.namespace}.edge.localhost"
        cluster.endpoint("waiting", f"tls://{host}", f"tcp://{upstream}", tlsTermination=termination)
        cluster.endpoint("other", "tcp://", f"tcp://{upstream}")
        cluster.holds("other")
        assert cluster.held("waiting") == []
        cluster.reports("waiting", "the Secret later does not exist")
        cluster.secret("later", tls_crt=b"no certificate", tls_key=b"no key")
        cluster.reports("waiting", "the server certificate and its key in the Secret later can't be used")
        certificate, key = pair(host)
        cluster.secret("later", tls_crt=certificate, tls_key=key)
        cluster.holds("waiting")
        cluster.reports("waiting", "")
