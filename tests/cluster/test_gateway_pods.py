"""Gateways on a cluster: Envoys as Pods, a Service before them, configured over TLS. The Pods are real processes."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import yaml

from seamark.families.gateway.family import controllers
from seamark.families.gateway.model.options import Cluster, Options
from seamark.gatewayapi.bundle import definitions
from seamark_edge.dataplane.envoy import binary
from seamark_edge.dataplane.envoy.local import LocalEnvoys
from seamark_edge.dataplane.envoy.remote import RemoteEnvoys, XdsListener
from tests.cluster.gateway_operator import Scene
from tests.cluster.kubelet_machine import Machine, echo_deployment, running_machine
from tests.cluster.requests import eventually
from tests.cluster.score_operator import running
from tests.gateway.test_remote import Authority

NAMESPACE, XDS = "seamark-system", "seamark-xds.seamark-system.svc"
NODE, PORT = "10.244.0.1", 9977


def prepare(machine: Machine, authority: Authority) -> None:
    plane = machine.plane
    plane.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(DEFINITIONS))
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    machine.namespace(NAMESPACE)
    machine.namespace("shop")
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "seamark-ca"},
        "stringData": {name: content.decode() for name, content in authority.files.items()},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "seamark-xds"},
        "spec": {"ports": [{"name": "xds", "port": PORT}]},
    }
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "seamark-xds", "labels": {"kubernetes.io/service-name": "seamark-xds"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [NODE]}],
        "ports": [{"name": "xds", "port": PORT}],
    }
    machine.apply(secret, service, endpoints, namespace=NAMESPACE)
    machine.apply(*echo_deployment("web", replicas=1), namespace="shop")


DEFINITIONS = definitions()  # while there is a way out of this machine


def test_a_gateway_is_served_by_pods_and_takes_them_along(tmp_path: Path) -> None:
    authority = Authority(XDS)
    ours = authority.fill(tmp_path / "server")
    table = {"docker.io/envoyproxy/envoy:*": {"command": [str(binary.install())]}}
    cluster = Cluster(namespace=NAMESPACE, xds=f"{XDS}:{PORT}", service_type="ClusterIP")
    with running_machine(table=table) as machine:
        prepare(machine, authority)
        plane = RemoteEnvoys(XdsListener(f"{NODE}:{PORT}", ours))
        scene = Scene(machine.plane, "shop")
        with running(machine.plane, controllers(Options(cluster=cluster), plane)):
            scene.gateway("front")
            scene.route("front")
            eventually(lambda: programmed(scene) == "True/Programmed", "the gateway is programmed", 90)
            address = scene.get("gateways", "front")["status"]["addresses"][0]["value"]
            eventually(lambda: answers(address), "requests to its Service are answered", 60)
            scene.drop("gateways", "front")
            pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
            eventually(lambda: not machine.get(pods)["items"], "its Pods are gone", 60)
            eventually(lambda: secrets(machine) == {"seamark-ca"}, "their certificate is gone", 60)


def test_from_pods_to_local_envoys_nothing_of_the_pods_is_left(tmp_path: Path) -> None:
    authority = Authority(XDS)
    ours = authority.fill(tmp_path / "server")
    table = {"docker.io/envoyproxy/envoy:*": {"command": [str(binary.install())]}}
    cluster = Cluster(namespace=NAMESPACE, xds=f"{XDS}:{PORT}", service_type="ClusterIP")
    local = Options(addresses=("127.0.81.0/24",), former_namespace=NAMESPACE)
    with running_machine(table=table) as machine:
        prepare(machine, authority)
        scene = Scene(machine.plane, "shop")
        plane = RemoteEnvoys(XdsListener(f"{NODE}:{PORT}", ours))
        with running(machine.plane, controllers(Options(cluster=cluster), plane)):
            scene.gateway("front")
            eventually(lambda: programmed(scene) == "True/Programmed", "the gateway is programmed", 90)
        assert names(machine, "apis/apps/v1", "deployments")
        with running(machine.plane, controllers(local, LocalEnvoys(binary.install()))):
            for api, kind in (("apis/apps/v1", "deployments"), ("api/v1", "pods")):
                eventually(lambda api=api, kind=kind: not names(machine, api, kind), f"no {kind} are left", 60)  # type: ignore[misc]
            assert names(machine, "api/v1", "services") == {"seamark-xds"}
            eventually(lambda: address(scene).startswith("127.0.81."), "it has a local address", 30)
            eventually(lambda: programmed(scene) == "True/Programmed", "it is programmed on this machine", 30)


def address(scene: Scene) -> str:
    return str((scene.get("gateways", "front")["status"].get("addresses") or [{"value": ""}])[0]["value"])


def names(machine: Machine, api: str, kind: str) -> set[str]:
    items = machine.get(f"/{api}/namespaces/{NAMESPACE}/{kind}")["items"]
    return {one["metadata"]["name"] for one in items}


def secrets(machine: Machine) -> set[str]:
    found = machine.get(f"/api/v1/namespaces/{NAMESPACE}/secrets")["items"]
    return {one["metadata"]["name"] for one in found if one["type"] != "kubernetes.io/service-account-token"}


def programmed(scene: Scene) -> str:
    return scene.conditions("gateways", "front").get("Programmed", "")


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False
