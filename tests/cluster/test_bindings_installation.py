"""KubernetesOperator on a real API server: registration, certificate, drain; and taking over from the Go operator.

The rules are those of docs/spec/bindings/kubernetesoperator.md.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from seamark.families.bindings.model.certificates import EcCertificates
from seamark.families.bindings.model.ownership import FINALIZER, FORMER_FINALIZER
from seamark.families.bindings.model.targets import parse
from seamark.providers.edge.calls import Kind
from seamark.providers.edge.memory import MemoryCalls
from seamark_cluster.real.plane import ControlPlane
from seamark_edge.model import Fields
from seamark_runtime.errors import Retry
from tests.cluster.bindings_world import Bindings, Json, installation
from tests.cluster.requests import request


@pytest.fixture
def world(control_plane: ControlPlane, namespace: str, users: str) -> Iterator[Bindings]:
    with installation(control_plane, namespace, users) as one:
        yield one


@pytest.fixture
def old(control_plane: ControlPlane, namespace: str, users: str) -> Iterator[Bindings]:
    """Where the Go operator was: what it has written keeps to no rules of ours."""
    with installation(control_plane, namespace, users, judged=False) as one:
        yield one


def test_it_registers_and_puts_the_signed_certificate_into_a_secret(world: Bindings) -> None:
    """Rules 1 to 3."""
    world.install(tlsSecretName="our-tls")
    with world.operating():
        world.until_installed()
        status = world.get(world.operator_path)["status"]
        assert (status["enabledFeatures"], status["bindingsIngressEndpoint"]) == ("bindings", "127.0.0.1:443")
        assert status["id"].startswith("operators_")
        assert world.installed("Registered")["reason"] == "Registered"
        assert world.installed("Draining")["status"] == "False"
        secret = secret_of(world, "our-tls")
        assert secret["type"] == "kubernetes.io/tls"
        assert base64.b64decode(secret["data"]["tls.crt"]).startswith(b"certificate ")
        (owner,) = secret["metadata"]["ownerReferences"]
        assert owner["kind"] == "KubernetesOperator"
        head, row = world.plane.kubectl("get", "kubernetesoperators", "-n", world.home).splitlines()
        assert head.split() == ["NAME", "ID", "FEATURES", "REGISTERED", "READY", "AGE"]
        assert row.split()[1:5] == [status["id"], "bindings", "True", "True"]


def test_an_edge_that_cant_be_reached_is_told_and_nothing_is_deleted(world: Bindings) -> None:
    """Rule 5, also across a restart, when the edge's response is not remembered."""
    world.install()
    world.edge = Troubled()
    url = f"http://stays.{world.users}"
    with world.operating():
        world.agent(url)
        world.until_ready(url)
        world.edge.down = True
        said = world.until_installed("Ready", "False", "EdgeUnreachable")
        assert said["message"] == "the edge is not reached"
        assert world.condition(parse(url).name, "Ready")["status"] == "True"
    with world.operating():
        world.until_installed("Registered", "False", "EdgeUnreachable")
        assert world.condition(parse(url).name, "Ready")["status"] == "True"
        assert world.target(url) != {}
        world.edge.down = False
        world.until_installed()


def test_an_edge_that_has_forgotten_us_is_registered_with_anew(world: Bindings) -> None:
    world.install()
    with world.operating():
        world.until_installed()
        before = world.get(world.operator_path)["status"]["id"]
        world.edge._objects[Kind.OPERATORS].clear()
        world.until(lambda: world.get(world.operator_path)["status"]["id"] != before, "another id")
        world.until_installed()


def test_a_certificate_is_renewed_before_it_is_over_and_an_expired_one_at_once(world: Bindings) -> None:
    """Rule 4."""
    world.install()
    signing = Signing(days=90)
    world.edge = signing
    with world.operating(certificates=EcCertificates()):
        world.until_installed()
        first = secret_of(world)["data"]
        signing.days = 90
        for age in (70, 100):  # of 90 days: due, and over
            put_certificate(world, signing, begun=timedelta(days=age))
            replaced = secret_of(world)["data"]
            world.until(lambda old=replaced: secret_of(world)["data"] != old, f"one of {age} days is replaced")  # type: ignore[misc]
            life = EcCertificates().life(
                *(base64.b64decode(secret_of(world)["data"][n]) for n in ("tls.crt", "tls.key"))
            )
            assert life is not None
            assert life.ends > datetime.now(UTC) + timedelta(days=80)
        assert secret_of(world)["data"] != first
        world.until_installed()


def test_an_expired_certificate_that_cant_be_renewed_is_told(world: Bindings) -> None:
    world.install()
    signing = Signing(days=90)
    put_certificate(world, signing, begun=timedelta(days=100))
    signing.refuses_to_sign = True
    world.edge = signing
    with world.operating(certificates=EcCertificates()):
        said = world.until_installed("Ready", "False", "CertificateExpired")
        assert said["message"].startswith("The certificate expired at 20")
        assert said["message"].endswith("no certificates today")
        signing.refuses_to_sign = False
        world.until_installed()


def test_a_drain_by_the_policy_delete_removes_everything_and_deregisters(world: Bindings) -> None:
    """Rules 6 and 8."""
    world.install("Delete")
    urls = [f"http://drained-{number}.{world.users}" for number in range(20)]
    with world.operating():
        for url in urls:
            world.agent(url)
        for url in urls:
            world.until_ready(url)
        world.plane.kubectl("delete", "kubernetesoperator", "-n", world.home, "seamark", "--timeout=60s")
        assert world.all_bound() == []
        for namespace in (world.home, world.users):
            left = world.get(f"/api/v1/namespaces/{namespace}/services")["items"]
            assert left == [], namespace
        assert world.edge._objects[Kind.OPERATORS] == {}


def test_a_drain_by_the_policy_retain_releases_everything_and_leaves_it(world: Bindings) -> None:
    """Rules 7 and 8: nothing is stranded, what was released can be deleted without an operator."""
    world.install("Retain")
    url = f"http://kept.{world.users}"
    with world.operating():
        world.agent(url)
        world.until_ready(url)
        assert world.bind("by-hand", f"tcp://hand.{world.users}:99", 10050).code == 201
        world.until_condition("by-hand", "Ready", "True")
        world.plane.kubectl("delete", "kubernetesoperator", "-n", world.home, "seamark", "--timeout=60s")
        assert world.edge._objects[Kind.OPERATORS] == {}
        for name in (parse(url).name, "by-hand"):
            assert world.get(world.path(name))["metadata"].get("finalizers", []) == []
        assert world.target(url) != {}
        world.until_condition(parse(url).name, "Ready", "True")
    world.plane.kubectl("delete", "boundendpoint", "-n", world.home, "--all", "--timeout=30s")


def test_a_drain_is_counted_and_says_what_it_waits_for(world: Bindings) -> None:
    world.install("Delete")
    url = f"http://held.{world.users}"
    with world.operating():
        world.agent(url)
        world.agent(f"http://free.{world.users}")
        world.until_ready(url)
        world.until_ready(f"http://free.{world.users}")
        world.patch(world.path(parse(url).name), {"metadata": {"finalizers": [FINALIZER, "example.com/theirs"]}})
        world.delete(world.operator_path)
        said = world.until_installed("Draining", "True", "Draining")
        world.until(lambda: world.installed("Draining")["message"] == "1 of 2 BoundEndpoints are removed", "a count")
        status = world.get(world.operator_path)["status"]
        assert (status["drainTotal"], status["drainDone"]) == (2, 1), said
        world.patch(world.path(parse(url).name), {"metadata": {"finalizers": []}})
        world.until_gone(world.operator_path, "it goes")


def test_an_object_of_the_go_operator_is_taken_over(old: Bindings) -> None:
    """Per-endpoint status, the shared finalizer, its field manager, its Services: all as it has left them."""
    world = old
    url = f"http://old.{world.users}:80"
    name = parse(url).name
    write_as_the_go_operator(world, url, name)
    world.install()
    world.agent(url)
    before = {kind: service["metadata"]["uid"] for kind, service in services(world, url).items()}
    with world.operating():
        bound = world.until_ready(url)
        world.until(lambda: world.bound(url)["status"].get("endpointsSummary") == "1 endpoint", "the poller has spoken")
        bound = world.bound(url)
        assert bound["metadata"]["finalizers"] == [FINALIZER]
        assert [set(one) for one in bound["status"]["endpoints"]] == [{"id", "uri"}]
        assert bound["spec"]["port"] == 10123  # its forwarders' port stays
        assert bound["status"]["targetServiceRef"] == {"name": "old", "namespace": world.users}
        after = {kind: service["metadata"]["uid"] for kind, service in services(world, url).items()}
        assert after == before  # no Service was made anew
        assert [port["name"] for port in world.upstream(url)["spec"]["ports"]] == ["http-80"]
        ours = {"seamark-bindings", "seamark-bindings-poller"}
        managers = {one["manager"]: one for one in world.get_managed(name) if one.get("subresource") == "status"}
        assert ours <= set(managers)
        for manager, entry in managers.items():
            if manager not in ours:
                assert "f:endpoints" not in entry["fieldsV1"].get("f:status", {}), manager
        world.plane.kubectl("delete", "boundendpoint", "-n", world.home, name, "--wait=false")
        world.until(lambda: world.bound(url).get("metadata", {}).get("uid") != bound["metadata"]["uid"], "it can go")


def test_a_ref_that_the_go_operator_has_left_is_taken_away_when_it_is_not_true(old: Bindings) -> None:
    world = old
    url = f"http://gone.{world.users}-nowhere:80"
    name = parse(url).name
    write_as_the_go_operator(world, url, name, with_services=False)
    world.install()
    world.agent(url)
    with world.operating():
        world.until_condition(name, "ServicesCreated", "False", "TargetServiceCreationFailed")
        world.until(lambda: "targetServiceRef" not in world.bound(url)["status"], "the old word is gone")


# ---- fakes


class Troubled(MemoryCalls):
    """An edge that can be out of reach."""

    down = False

    async def bound(self, operator: str) -> list[Fields]:
        self._reach()
        found: list[Fields] = await super().bound(operator)
        return found

    async def listed(self, kind: Kind, *, limit: int = 0, where: str = "") -> list[Fields]:
        self._reach()
        found: list[Fields] = await super().listed(kind, limit=limit, where=where)
        return found

    def _reach(self) -> None:
        if self.down:
            raise Retry("the edge is not reached")


class Signing(Troubled):
    """An edge that really signs, for so many days."""

    refuses_to_sign = False

    def __init__(self, days: float) -> None:
        super().__init__()
        self.days = days
        self._key = ec.generate_private_key(ec.SECP256R1())

    def sign(self, public: Any, begun: timedelta) -> str:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "edge")])
        start = datetime.now(UTC) - begun
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(public)
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(start)
        made = builder.not_valid_after(start + timedelta(days=self.days)).sign(self._key, hashes.SHA256())
        return made.public_bytes(serialization.Encoding.PEM).decode()

    def _sign(self, made: Fields) -> None:
        csr = made.setdefault("binding", {"endpoint_selectors": []}).get("csr")
        if csr and self.refuses_to_sign:
            made["binding"].pop("csr")
            raise Retry("no certificates today")
        super()._sign(made)
        if csr:
            public = x509.load_pem_x509_csr(csr.encode()).public_key()
            made["binding"]["cert"]["cert"] = self.sign(public, timedelta(minutes=5))


def secret_of(world: Bindings, name: str = "default-tls") -> Json:
    return world.get(f"/api/v1/namespaces/{world.home}/secrets/{name}")


def put_certificate(world: Bindings, signing: Signing, begun: timedelta) -> None:
    """A Secret as an installation of long ago has left it."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    data = {
        "tls.crt": base64.b64encode(signing.sign(key.public_key(), begun).encode()).decode(),
        "tls.key": base64.b64encode(private).decode(),
    }
    path = f"/api/v1/namespaces/{world.home}/secrets"
    if secret_of(world):
        world.patch(f"{path}/default-tls", {"data": data})
        return
    owner = world.get(world.operator_path)
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "seamark"}
    metadata = {"name": "default-tls", "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}]}
    made = request(world.plane, "POST", path, {"metadata": metadata, "type": "kubernetes.io/tls", "data": data})
    assert made.code == 201, made.body


def services(world: Bindings, url: str) -> dict[str, Json]:
    return {"upstream": world.upstream(url), "target": world.target(url)}


def write_as_the_go_operator(world: Bindings, url: str, name: str, *, with_services: bool = True) -> None:
    target = parse(url)
    assert world.bind(name, url, 10123).code == 201
    world.patch(
        f"{world.path(name)}?fieldManager=ngrok-operator-manager", {"metadata": {"finalizers": [FORMER_FINALIZER]}}
    )
    old = {"id": "ep_old", "uri": "/endpoints/ep_old", "status": "provisioning", "errorCode": "", "errorMessage": ""}
    said = {
        "type": "ServicesCreated",
        "status": "True",
        "reason": "ServicesCreated",
        "message": "Services created",
        "lastTransitionTime": "2025-01-01T00:00:00Z",
    }
    status = {
        "endpoints": [old],
        "hashedName": name,
        "conditions": [said],
        "targetServiceRef": {"name": target.service, "namespace": target.namespace},
        "upstreamServiceRef": {"name": name},
    }
    path = f"{world.path(name)}/status?fieldManager=ngrok-operator-manager"
    answer = request(world.plane, "PATCH", path, {"status": status}, content_type="application/merge-patch+json")
    assert answer.code == 200, answer.body
    if not with_services:
        return
    labels = {
        "app.kubernetes.io/managed-by": "ngrok-operator",
        "bindings.k8s.ngrok.com/endpoint-binding-name": name,
        "bindings.k8s.ngrok.com/endpoint-binding-namespace": world.home,
    }
    external = f"{name}.{world.home}.svc.cluster.local"
    port = {"name": "http", "port": 80}
    upstream = {
        "selector": {"app.kubernetes.io/component": "bindings-forwarder"},
        "ports": [{**port, "targetPort": 10123}],
    }
    for namespace, service, spec in (
        (world.home, name, upstream),
        (target.namespace, target.service, {"type": "ExternalName", "externalName": external, "ports": [port]}),
    ):
        body = {"metadata": {"name": service, "labels": labels}, "spec": spec}
        assert request(world.plane, "POST", f"/api/v1/namespaces/{namespace}/services", body).code == 201
