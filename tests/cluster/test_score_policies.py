"""Retain, Orphan and Delete on a real API server with its garbage collector: which volumes outlive what they are for.

The rules are those of docs/spec/score/claims.md.
"""

from __future__ import annotations

from typing import Any

import pytest

from seamark_runtime.controller import Declaration
from tests.cluster.requests import request
from tests.cluster.score_kubernetes import Kubernetes, Listening
from tests.cluster.score_operator import MERGE

POLICY = "score.dev/deprovision-policy"
MOUNT = {"main": {"image": "postgres", "volumes": [{"target": "/data", "source": "${resources.data}"}]}}
PLAIN = {"main": {"image": "postgres", "volumes": []}}
CLAIM, VOLUME, OUTPUTS = "resourceclaims", "core:persistentvolumeclaims/app.data", "core:configmaps/app.data.outputs"
PLANS, ROLLOUT = "score.dev/v1b1:workloadplans/app", "apps:deployments/app"


def controllers() -> tuple[Declaration, ...]:
    return Listening().controllers()


def volume(policy: str) -> dict[str, Any]:
    return {"data": {"type": "volume", "metadata": {"annotations": {POLICY: policy} if policy else {}}}}


def with_volume(cluster: Kubernetes, policy: str) -> str:
    """A Workload that runs with a volume: the uid of the volume's claim."""
    cluster.apply(containers=MOUNT, resources=volume(policy))
    cluster.until(lambda: bool(cluster.object(VOLUME)), "a volume")
    cluster.until(lambda: bool(cluster.object(ROLLOUT)), "a Deployment")
    return uid_of(cluster)


def uid_of(cluster: Kubernetes) -> str:
    return str(cluster.object(VOLUME).get("metadata", {}).get("uid", ""))


def pods_are_made(cluster: Kubernetes) -> bool:
    """Whether the Deployment has made the pods of its present template."""
    rollout = cluster.object(ROLLOUT)
    status = rollout.get("status", {})
    current = status.get("observedGeneration") == rollout["metadata"]["generation"]
    return bool(current and status.get("updatedReplicas", 0) >= rollout["spec"].get("replicas", 1))


def standing(cluster: Kubernetes) -> str:
    """The uid of the volume's claim, if nothing is about to delete it."""
    metadata = cluster.object(VOLUME).get("metadata", {})
    assert "deletionTimestamp" not in metadata
    return str(metadata.get("uid", ""))


def unowned(cluster: Kubernetes) -> bool:
    return bool(uid_of(cluster)) and not cluster.object(VOLUME)["metadata"].get("ownerReferences")


def released(cluster: Kubernetes) -> bool:
    """The garbage collector has deleted the volume; only the finalizer of Kubernetes' own protection may hold it."""
    metadata = cluster.object(VOLUME).get("metadata", {})
    return not metadata or "deletionTimestamp" in metadata


def delete_workload(cluster: Kubernetes, propagation: str = "Background") -> None:
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
    assert request(cluster.plane, "DELETE", cluster.path("workloads", "app"), options).code == 200
    cluster.until(lambda: not cluster.get("workloads"), "the Workload is gone")


def until_collected(cluster: Kubernetes) -> None:
    """The collector has been at everything that the plan owned."""
    cluster.until(lambda: not cluster.object(PLANS), "the plan is gone")
    cluster.until(lambda: not cluster.object(ROLLOUT), "the Deployment is gone")


@pytest.mark.parametrize("policy", ["Retain", "Orphan"])
def test_a_volume_outlives_its_workload_and_serves_the_next_of_that_name(cluster: Kubernetes, policy: str) -> None:
    uid = with_volume(cluster, policy)
    cluster.until(lambda: unowned(cluster), "nothing owns the volume")
    delete_workload(cluster)
    until_collected(cluster)
    assert standing(cluster) == uid
    assert cluster.object(OUTPUTS)
    assert bool(cluster.get(CLAIM, "app.data")) == (policy == "Orphan")
    cluster.apply(containers=MOUNT, resources=volume(policy))
    cluster.until_condition("ClaimsReady", "True")
    cluster.until(lambda: bool(cluster.object(ROLLOUT)), "a Deployment")
    cluster.pods_are("True")
    cluster.until_condition("Ready", "True")
    assert standing(cluster) == uid


@pytest.mark.parametrize("policy", ["Retain", "Orphan"])
def test_a_volume_outlives_its_resource(cluster: Kubernetes, policy: str) -> None:
    uid = with_volume(cluster, policy)
    cluster.edit({"spec": {"containers": PLAIN, "resources": None}})
    cluster.until(lambda: len(cluster.object(ROLLOUT)["spec"]["template"]["spec"].get("volumes") or ()) == 0, "no use")
    cluster.until(lambda: pods_are_made(cluster), "the pods of the new template")
    cluster.pods_are("True")
    cluster.until_condition("Ready", "True")
    assert standing(cluster) == uid
    delete_workload(cluster)
    until_collected(cluster)
    assert standing(cluster) == uid


def test_by_default_a_volume_goes_with_its_resource(cluster: Kubernetes) -> None:
    with_volume(cluster, "")
    cluster.edit({"spec": {"containers": PLAIN, "resources": None}})
    cluster.until(lambda: released(cluster), "the volume is gone")


def test_by_default_a_volume_goes_with_its_workload(cluster: Kubernetes) -> None:
    with_volume(cluster, "Delete")
    delete_workload(cluster)
    cluster.until(lambda: released(cluster), "the volume is gone")


@pytest.mark.parametrize("policy", ["Retain", "Orphan"])
def test_a_policy_counts_for_a_volume_that_is_there_already(cluster: Kubernetes, policy: str) -> None:
    uid = with_volume(cluster, "")
    cluster.until(lambda: not unowned(cluster), "the plan owns the volume")
    cluster.edit({"spec": {"resources": volume(policy)}})
    cluster.until(lambda: unowned(cluster), "nothing owns the volume")
    cluster.until(lambda: spared(cluster, policy), "nothing owns what the policy spares")
    delete_workload(cluster)
    until_collected(cluster)
    assert standing(cluster) == uid
    assert cluster.object(OUTPUTS)


def spared(cluster: Kubernetes, policy: str) -> bool:
    found = cluster.object(OUTPUTS) if policy == "Retain" else cluster.get(CLAIM, "app.data")
    return not found["metadata"].get("ownerReferences")


def test_a_volume_that_an_earlier_version_has_made_is_retained(cluster: Kubernetes) -> None:
    """Up to version 0.1 the plan owned every volume, whatever its policy was."""
    uid = with_volume(cluster, "Retain")
    plan = cluster.object(PLANS)["metadata"]
    owner = {"apiVersion": "score.dev/v1b1", "kind": "WorkloadPlan", "name": "app", "uid": plan["uid"]}
    metadata = {"ownerReferences": [owner | {"controller": True}], "labels": {POLICY: None}}
    patched = request(cluster.plane, "PATCH", cluster.there(VOLUME), {"metadata": metadata}, content_type=MERGE)
    assert patched.code == 200, patched.body
    cluster.until(lambda: unowned(cluster), "nothing owns the volume")
    delete_workload(cluster)
    until_collected(cluster)
    assert standing(cluster) == uid


def test_a_policy_that_there_is_not_is_refused_and_the_volume_stays(cluster: Kubernetes) -> None:
    uid = with_volume(cluster, "Retain")
    cluster.edit({"spec": {"resources": volume("Keep")}})
    told = cluster.until_condition("InputsValid", "False", "SpecInvalid")["message"]
    assert told.startswith("resources.data.metadata.annotations[score.dev/deprovision-policy]: ")
    assert "Keep" in told
    assert "Retain" in told
    delete_workload(cluster)
    until_collected(cluster)
    assert standing(cluster) == uid


def test_what_a_workload_leaves_behind_is_adopted_by_the_next_of_that_name(cluster: Kubernetes) -> None:
    """`kubectl delete --cascade=orphan`, as it is done to make a Workload anew under what runs."""
    uid = with_volume(cluster, "")
    cluster.pods_are("True")
    cluster.until_condition("Ready", "True")
    rollout, plan = (cluster.object(path)["metadata"]["uid"] for path in (ROLLOUT, PLANS))
    delete_workload(cluster, "Orphan")
    cluster.until(lambda: not cluster.object(PLANS)["metadata"].get("ownerReferences"), "the plan is left behind")
    cluster.apply(containers=MOUNT, resources=volume(""))
    cluster.until_condition("Ready", "True")
    assert standing(cluster) == uid
    assert cluster.object(ROLLOUT)["metadata"]["uid"] == rollout
    assert cluster.object(PLANS)["metadata"]["uid"] == plan
    delete_workload(cluster)
    until_collected(cluster)
    cluster.until(lambda: released(cluster), "the volume is gone")


def test_a_change_of_runtime_deletes_no_volume(cluster: Kubernetes) -> None:
    uid = with_volume(cluster, "")
    spec = {"spec": {"runtimeClass": "elsewhere"}}
    request(cluster.plane, "PATCH", cluster.there(PLANS), spec, content_type=MERGE)
    cluster.until(lambda: bool(cluster.object(ROLLOUT)), "the orchestrator has chosen again")
    assert standing(cluster) == uid
