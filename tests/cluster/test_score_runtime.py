"""The Kubernetes runtime on a real API server with the ordinary controllers; the test plays the kubelet.

The rules are those of docs/spec/score/runtime.md.
"""

from __future__ import annotations

from typing import Any

from seamark_runtime.controller import Declaration
from tests.cluster.requests import request
from tests.cluster.score_kubernetes import Kubernetes, Listening
from tests.cluster.score_operator import Running

MAIN: dict[str, Any] = {
    "image": "nginx",
    "command": ["/bin/serve"],
    "variables": {"B": "2", "A": "${metadata.name}"},
    "files": [{"target": "/etc/a", "content": "name=${metadata.name}", "mode": "0600"}],
    "resources": {"limits": {"cpu": "1.5", "memory": "1024Mi"}, "requests": {"cpu": "0.10"}},
    "readinessProbe": {"httpGet": {"path": "/", "port": 8080}},
}
WEB = {"ports": [{"name": "web", "port": 80, "targetPort": 8080}]}


LISTENING = Listening()


def controllers() -> tuple[Declaration, ...]:
    return LISTENING.controllers()


def url(cluster: Kubernetes) -> str:
    return f"http://app.{cluster.namespace}.svc.cluster.local:80"


def test_a_workload_runs_is_published_and_falls_ill_and_recovers(cluster: Kubernetes) -> None:
    cluster.apply(containers={"main": MAIN}, service=WEB)
    cluster.until_condition("RuntimeReady", "False", "RuntimeProvisioning")
    cluster.pods_are("True")
    cluster.until_endpoint(url(cluster))
    cluster.until_condition("Ready", "True", "Succeeded")
    cluster.pods_are("False")
    told = cluster.until_condition("RuntimeReady", "False", "RuntimeDegraded")
    assert "No replica is available" in told["message"]
    cluster.until_condition("Ready", "False", "RuntimeDegraded")
    cluster.pods_are("True")
    cluster.until_condition("Ready", "True", "Succeeded")


def test_a_workload_is_not_ready_while_nobody_listens_at_its_port(cluster: Kubernetes) -> None:
    LISTENING.refused = True
    try:
        cluster.apply(containers={"main": MAIN}, service=WEB)
        cluster.pods_are("True")
        refused = cluster.until_condition("RuntimeReady", "False", "NetworkUnavailable")
        assert refused["message"] == "Connections to port 8080 are refused"
        assert cluster.runtime_condition("Available")["status"] == "True"
        assert cluster.runtime_condition("Reachable")["reason"] == "Refused"
        assert cluster.condition("Ready")["status"] == "False"
    finally:
        LISTENING.refused = False
    cluster.until_condition("Ready", "True", "Succeeded")


def test_a_change_that_means_nothing_to_the_pods_rolls_nothing_out(at_work: Running, cluster: Kubernetes) -> None:
    cluster.apply(containers={"main": MAIN}, service=WEB)
    cluster.pods_are("True")
    cluster.until_condition("Ready", "True")
    cluster.until(lambda: at_work.operator.quiet, "rest")
    cluster.edit({"spec": {"profile": "batch"}})
    cluster.until_condition("Ready", "True")
    deployment = cluster.object("apps:deployments/app")["metadata"]
    assert deployment["annotations"]["score.dev/workload-generation"] == "2"
    assert len(cluster.object("apps:replicasets")["items"]) == 1
    cluster.until(lambda: at_work.operator.quiet, "rest")
    assert cluster.object("apps:deployments/app")["metadata"]["generation"] == deployment["generation"]


def test_a_probe_that_is_taken_out_of_the_workload_is_taken_out_of_the_pods(cluster: Kubernetes) -> None:
    cluster.apply(containers={"main": MAIN}, service=WEB)

    def container() -> dict[str, Any]:
        found = cluster.object("apps:deployments/app")
        return dict(found["spec"]["template"]["spec"]["containers"][0]) if found else {}

    cluster.until(lambda: "readinessProbe" in container(), "a probe")
    cluster.edit({"spec": {"containers": {"main": {"readinessProbe": None, "command": None}}}})
    cluster.until(lambda: "readinessProbe" not in container() and "command" not in container(), "no probe")
    assert container()["env"] == [{"name": "A", "value": "app"}, {"name": "B", "value": "2"}]


def test_somebody_elses_service_is_neither_touched_nor_published(cluster: Kubernetes) -> None:
    theirs = {"metadata": {"name": "app"}, "spec": {"ports": [{"port": 9}]}}
    made = request(cluster.plane, "POST", cluster.there("core:services"), theirs)
    assert made.code == 201, made.body
    cluster.apply(containers={"main": MAIN}, service=WEB)
    cluster.pods_are("True")
    told = cluster.until_condition("RuntimeReady", "False", "RuntimeDegraded")
    assert f"Service {cluster.namespace}/app exists and is not managed by Seamark" in told["message"]
    assert cluster.endpoint() is None
    live = cluster.object("core:services/app")
    assert live["metadata"]["resourceVersion"] == made.body["metadata"]["resourceVersion"]


def test_a_deleted_workload_takes_everything_with_it_and_a_deleted_exposure_nothing(cluster: Kubernetes) -> None:
    cluster.apply(containers={"main": MAIN}, service=WEB)
    cluster.pods_are("True")
    cluster.until_condition("Ready", "True")
    deployment = cluster.object("apps:deployments/app")["metadata"]["uid"]
    cluster.delete("workloadexposures")
    cluster.until_condition("Ready", "True")
    assert cluster.object("apps:deployments/app")["metadata"]["uid"] == deployment
    cluster.delete("workloads")
    made = ("apps:deployments/app", "core:services/app", "core:configmaps/app.main.files")
    cluster.until(lambda: not any(cluster.object(path) for path in made), "all of it is gone")


def test_a_service_has_the_name_and_the_annotations_that_were_wanted(cluster: Kubernetes) -> None:
    annotations = {"k8s.score.dev/service-name": "shop", "example.com/team": "north"}
    cluster.apply(annotations=annotations, containers={"main": MAIN}, service=WEB)
    cluster.pods_are("True")
    cluster.until_endpoint(f"http://shop.{cluster.namespace}.svc.cluster.local:80")
    cluster.until_condition("Ready", "True", "Succeeded")
    assert cluster.object("core:services/app") == {}
    assert cluster.object("core:services/shop")["metadata"]["annotations"]["example.com/team"] == "north"
    assert cluster.pods()[0]["metadata"]["annotations"]["example.com/team"] == "north"
    cluster.edit({"metadata": {"annotations": {"k8s.score.dev/service-name": None}}})
    cluster.until_endpoint(url(cluster))
    cluster.until(lambda: cluster.object("core:services/shop") == {}, "the former Service is gone")
