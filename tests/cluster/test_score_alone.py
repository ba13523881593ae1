"""A part of the Score family at work without the others: what it does not wait for, and what it never trusts."""

from __future__ import annotations

from typing import Any

import pytest

from seamark.families.score.family import CRDS, MIRROR, RUNTIME
from seamark_cluster.real.plane import ControlPlane
from tests.cluster.requests import install, request
from tests.cluster.score_kubernetes import Kubernetes
from tests.cluster.score_operator import Cluster, running

URL = "https://app.example.com"


@pytest.fixture
def cluster(control_plane: ControlPlane, namespace: str) -> Kubernetes:
    for crd in CRDS:
        install(control_plane, crd)
    return Kubernetes(control_plane, namespace)


def expose(cluster: Cluster, uid: str, runtime_class: str) -> None:
    spec = {
        "workloadRef": {"name": "app", "uid": uid},
        "observedWorkloadGeneration": 1,
        "runtimeClass": runtime_class,
    }
    body = {"apiVersion": "score.dev/v1b1", "kind": "WorkloadExposure", "metadata": {"name": "app"}, "spec": spec}
    assert request(cluster.plane, "POST", cluster.path("workloadexposures"), body).code == 201


@pytest.mark.parametrize("mine", [True, False], ids=["its own", "a namesake's"])
def test_only_the_exposure_of_its_own_uid_is_shown(cluster: Kubernetes, mine: bool) -> None:
    uid = cluster.apply().body["metadata"]["uid"]
    expose(cluster, uid if mine else "of-somebody-else", "ecs")
    cluster.publish({"exposures": [{"url": URL}]})
    with running(cluster.plane, MIRROR.controllers()) as mirror:
        cluster.until(lambda: mirror.operator.quiet, "the mirror is at rest")
        cluster.until_endpoint(URL if mine else None)


def test_the_runtime_renders_without_an_exposure_and_publishes_when_there_is_one(cluster: Kubernetes) -> None:
    """So it is after the way back to a version that knows no exposures."""
    values: dict[str, Any] = {"kind": "Deployment", "containers": {"main": {"image": "nginx"}}, "ports": [{"port": 80}]}
    spec = {
        "workloadRef": {"name": "app", "uid": "u"},
        "observedWorkloadGeneration": 1,
        "runtimeClass": "kubernetes",
        "resolvedValues": values,
    }
    plan = {"apiVersion": "score.dev/v1b1", "kind": "WorkloadPlan", "metadata": {"name": "app"}, "spec": spec}
    with running(cluster.plane, RUNTIME.controllers()):
        cluster.make("score.dev/v1b1:workloadplans", plan)
        cluster.until(lambda: bool(cluster.object("apps:deployments/app")), "a Deployment")
        cluster.pods_are("True")
        expose(cluster, "u", "kubernetes")
        cluster.until(lambda: bool(cluster.exposures()), "it is published")
        cluster.delete("workloadexposures")
        assert cluster.object("apps:deployments/app")
