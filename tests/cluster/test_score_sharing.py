"""One resource for several Workloads, and Workloads that lead to each other, on a real API server.

The rules are those of docs/spec/score/claims.md.
"""

from __future__ import annotations

from typing import Any

from seamark_runtime.controller import Declaration
from tests.cluster.requests import request
from tests.cluster.score_kubernetes import Kubernetes, Listening
from tests.cluster.score_operator import Running

STORE = {"type": "volume", "id": "shared-store"}
PEER = "${resources.peer.hostname}:${resources.peer.port}"
PORT = "resources.r.params.port"
HTTP = {"ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
VOLUMES = "core:persistentvolumeclaims"


def controllers() -> tuple[Declaration, ...]:
    return Listening().controllers()


def mounting(key: str) -> dict[str, Any]:
    return {"main": {"image": "busybox", "volumes": [{"target": "/data", "source": f"${{resources.{key}}}"}]}}


def showing(**variables: str) -> dict[str, Any]:
    return {"main": {"image": "busybox", "variables": variables}}


def volumes(cluster: Kubernetes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.object(VOLUMES)["items"]
    return [each for each in found if "deletionTimestamp" not in each["metadata"]]


def owners(cluster: Kubernetes) -> set[str]:
    return {owner["name"] for each in volumes(cluster) for owner in each["metadata"].get("ownerReferences") or ()}


def mounted(cluster: Kubernetes, name: str) -> str:
    template = cluster.object(f"apps:deployments/{name}").get("spec", {}).get("template", {}).get("spec", {})
    found = [each["persistentVolumeClaim"]["claimName"] for each in template.get("volumes") or ()]
    return found[0] if found else ""


def variable(cluster: Kubernetes, workload: str, name: str) -> str:
    found = cluster.object(f"apps:deployments/{workload}")
    containers = found["spec"]["template"]["spec"]["containers"] if found else [{}]
    return str({each["name"]: each.get("value", "") for each in containers[0].get("env") or ()}.get(name, ""))


def until_mounted(cluster: Kubernetes, name: str, volume: str) -> None:
    cluster.until(lambda: mounted(cluster, name) == volume, f"{name} has the volume")


def until_peer(cluster: Kubernetes, name: str, peer: str) -> None:
    cluster.until(lambda: variable(cluster, name, "PEER") == peer, f"{name} knows the port")


def until_refused(cluster: Kubernetes, name: str) -> None:
    cluster.until(lambda: PORT in cluster.condition("Ready", name).get("message", ""), "the place in the Workload")
    assert cluster.condition("Ready", name)["status"] == "False"


def delete(cluster: Kubernetes, name: str) -> None:
    cluster.delete("workloads", name)
    cluster.until(lambda: not cluster.object(f"score.dev/v1b1:workloadplans/{name}"), "its plan is gone")


def test_a_volume_that_two_workloads_share_goes_with_the_last(at_work: Running, cluster: Kubernetes) -> None:
    cluster.apply("reader", containers=mounting("store"), resources={"store": STORE})
    cluster.apply("writer", containers=mounting("target"), resources={"target": STORE})
    cluster.until(lambda: owners(cluster) == {"reader", "writer"}, "both plans own the volume")
    (volume,) = volumes(cluster)
    for name in ("reader", "writer"):
        until_mounted(cluster, name, volume["metadata"]["name"])
    cluster.until(lambda: at_work.operator.quiet, "rest")
    version = volumes(cluster)[0]["metadata"]["resourceVersion"]
    cluster.edit({"spec": {"profile": "batch"}}, "writer")
    cluster.until_condition("InputsValid", "True", name="writer")
    cluster.until(lambda: at_work.operator.quiet, "rest")
    assert volumes(cluster)[0]["metadata"]["resourceVersion"] == version
    delete(cluster, "writer")
    cluster.until(lambda: owners(cluster) == {"reader"}, "the other one owns it alone")
    assert volumes(cluster)[0]["metadata"]["uid"] == volume["metadata"]["uid"]
    delete(cluster, "reader")
    cluster.until(lambda: volumes(cluster) == [], "nothing needs it any more")


def test_a_shared_resource_that_leaves_one_workload_stays_with_the_other(cluster: Kubernetes) -> None:
    for name in ("reader", "writer"):
        cluster.apply(name, containers=mounting("store"), resources={"store": STORE})
    cluster.until(lambda: owners(cluster) == {"reader", "writer"}, "both plans own the volume")
    (volume,) = volumes(cluster)
    cluster.edit({"spec": {"containers": {"main": {"volumes": []}}, "resources": None}}, "reader")
    cluster.until(lambda: owners(cluster) == {"writer"}, "the other one owns it alone")
    assert volumes(cluster)[0]["metadata"]["uid"] == volume["metadata"]["uid"]
    cluster.edit({"spec": {"containers": {"main": {"volumes": []}}, "resources": None}}, "writer")
    cluster.until(lambda: volumes(cluster) == [], "nothing needs it any more")


def test_parameters_and_metadata_that_one_leaves_out_are_those_of_the_other(cluster: Kubernetes) -> None:
    plain = {"type": "service-port", "id": "catalog-http"}
    given = plain | {"params": {"workload": "catalog", "port": "http"}}
    cluster.apply("billing", containers=showing(PEER=PEER), resources={"peer": plain})
    cluster.apply("catalog", service=HTTP)
    cluster.apply("shop", containers=showing(PEER=PEER), resources={"peer": given})
    for name in ("billing", "shop"):
        until_peer(cluster, name, "catalog:80")


def test_what_two_workloads_say_differently_of_a_shared_resource_is_the_fault_of_the_later(cluster: Kubernetes) -> None:
    def with_size(size: str) -> dict[str, Any]:
        return {"store": {**STORE, "params": {"size": size}}}

    cluster.apply("aa", containers=mounting("store"), resources=with_size("1Gi"))
    cluster.until_condition("InputsValid", "True", name="aa")
    cluster.apply("bb", containers=mounting("store"), resources=with_size("2Gi"))
    message = cluster.until_condition("InputsValid", "False", "SpecInvalid", "bb")["message"]
    assert message.startswith("resources.store.params: ")
    assert "Workload aa" in message
    assert "shared-store" in message
    cluster.edit({"spec": {"resources": with_size("1Gi")}}, "bb")
    cluster.until(lambda: owners(cluster) == {"aa", "bb"}, "both plans own the volume")


def test_a_peer_that_comes_later_is_waited_for_and_named(cluster: Kubernetes) -> None:
    peer = {"type": "service-port", "params": {"workload": "late", "port": "http"}}
    cluster.apply("early", containers=showing(PEER=PEER), resources={"peer": peer})
    message = cluster.until_condition("ClaimsReady", "False", "Claiming", "early")["message"]
    assert message == "resources.peer.params.workload: there is no Workload 'late' in this namespace (yet)"
    cluster.apply("late", service=HTTP)
    until_peer(cluster, "early", "late:80")
    cluster.edit({"spec": {"resources": {"peer": {"params": {"port": "web"}}}}}, "early")
    message = cluster.until_condition("ClaimsReady", "False", "ClaimFailed", "early")["message"]
    assert message == "resources.peer.params.port: the Workload late has no port 'web': a name or a number of http (80)"
    assert variable(cluster, "early", "PEER") == "late:80"


def test_a_route_to_a_named_port_that_there_is_not_names_its_place(cluster: Kubernetes) -> None:
    for number, port in enumerate(("web", None, 8080.5, 8081)):
        route = {"type": "route", "params": {"host": "a.example.com", "path": "/", "port": port}}
        cluster.apply(f"app-{number}", resources={"r": route}, service={"ports": [{"name": "http", "port": 8080}]})
    for number in range(4):
        until_refused(cluster, f"app-{number}")
    assert request(cluster.plane, "GET", cluster.there("apps:deployments")).body["items"] == []
