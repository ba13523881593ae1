"""Deployments and ReplicaSets on the embedded cluster."""

from __future__ import annotations

from typing import Any

from seamark_cluster.controllers.deployment.state import HASH, REVISION
from tests.unit.cluster.controllers.small_cluster import Cluster, on_a_cluster, template, workload

DEPLOYMENTS, REPLICA_SETS = "deployments.apps", "replicasets.apps"


def condition(obj: dict[str, Any], type_: str) -> tuple[str, str]:
    found = next(condition for condition in obj["status"]["conditions"] if condition["type"] == type_)
    return found["status"], found["reason"]


def counts(obj: dict[str, Any]) -> dict[str, int]:
    return {name: value for name, value in obj["status"].items() if name.endswith("Replicas") or name == "replicas"}


def test_a_deployment_creates_pods_and_reports_when_they_are_available() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("Deployment", "web", replicas=3))
        await cluster.settled()
        assert len(cluster.pods()) == 3
        before = cluster.get(DEPLOYMENTS, "web")
        assert condition(before, "Available") == ("False", "MinimumReplicasUnavailable")
        assert condition(before, "Progressing")[0] == "True"
        assert counts(before) == {
            "replicas": 3,
            "updatedReplicas": 3,
            "unavailableReplicas": 3,
            "terminatingReplicas": 0,
        }
        await cluster.kubelet()
        after = cluster.get(DEPLOYMENTS, "web")
        assert condition(after, "Available") == ("True", "MinimumReplicasAvailable")
        assert condition(after, "Progressing") == ("True", "NewReplicaSetAvailable")
        assert after["status"]["readyReplicas"] == after["status"]["availableReplicas"] == 3
        assert after["status"]["observedGeneration"] == after["metadata"]["generation"] == 1
        assert after["metadata"]["annotations"] == {REVISION: "1"}
        (made,) = cluster.all(REPLICA_SETS)
        assert made["metadata"]["name"] == f"web-{made['metadata']['labels'][HASH]}"
        owner = made["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["controller"], owner["blockOwnerDeletion"]) == ("Deployment", True, True)

    on_a_cluster(program)


def test_nothing_is_written_when_nothing_changes() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("Deployment", "web", replicas=2))
        await cluster.kubelet()
        before = cluster.store.revisions.current
        await cluster.settled(3600)
        assert cluster.store.revisions.current == before

    on_a_cluster(program)


def test_a_rollout_keeps_enough_pods_available_and_never_has_too_many() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("Deployment", "web", replicas=4))
        await cluster.kubelet()
        seen: list[tuple[int, int]] = []

        def look(_event: object) -> None:
            pods = [pod for pod in cluster.all("pods") if "deletionTimestamp" not in pod["metadata"]]
            ready = [pod for pod in pods if pod.get("status", {}).get("podIP")]
            seen.append((len(pods), len(ready)))

        cluster.store.revisions.follow(look)
        cluster.change("Deployment", "web", {"template": template("web", MODE="new")})
        await cluster.kubelet()
        assert max(total for total, _ in seen) == 5  # a quarter more than four
        assert min(ready for _, ready in seen) == 3  # a quarter less
        old, new = sorted(cluster.all(REPLICA_SETS), key=lambda item: item["metadata"]["annotations"][REVISION])
        assert (old["spec"]["replicas"], new["spec"]["replicas"]) == (0, 4)
        deployment = cluster.get(DEPLOYMENTS, "web")
        assert deployment["metadata"]["annotations"][REVISION] == "2"
        assert counts(deployment) == {
            "replicas": 4,
            "updatedReplicas": 4,
            "readyReplicas": 4,
            "availableReplicas": 4,
            "terminatingReplicas": 0,
        }

    on_a_cluster(program)


def test_going_back_takes_the_old_replica_set_with_a_new_number() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("Deployment", "web"))
        await cluster.kubelet()
        first = cluster.all(REPLICA_SETS)[0]["metadata"]["name"]
        for mode in ("new", ""):
            env = [{"name": "MODE", "value": mode}] if mode else None
            patch = {"containers": [{"name": "main", "env": env}]} if env else {"containers": [{"name": "main"}]}
            cluster.change("Deployment", "web", {"template": {"spec": patch}})
            await cluster.kubelet()
        again = cluster.get(REPLICA_SETS, first)
        assert again["spec"]["replicas"] == 1
        assert again["metadata"]["annotations"][REVISION] == "3"
        assert again["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"

    on_a_cluster(program)


def test_recreate_lets_all_old_pods_go_first() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("Deployment", "web", replicas=2, strategy={"type": "Recreate"}))
        await cluster.kubelet()
        old = set(cluster.pods())
        cluster.change("Deployment", "web", {"template": template("web", MODE="new")})
        await cluster.settled()
        assert {
            pod["metadata"]["name"] for pod in cluster.all("pods")
        } == old  # the old Pods terminate, and no new one is created yet
        await cluster.kubelet()
        assert len(cluster.pods()) == 2
        assert not old & set(cluster.pods())

    on_a_cluster(program)


def test_a_rollout_without_progress_is_reported_at_its_deadline() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("Deployment", "web", progressDeadlineSeconds=30))
        await cluster.settled(20)
        assert condition(cluster.get(DEPLOYMENTS, "web"), "Progressing")[0] == "True"
        await cluster.settled(20)
        deployment = cluster.get(DEPLOYMENTS, "web")
        assert condition(deployment, "Progressing") == ("False", "ProgressDeadlineExceeded")

    on_a_cluster(program)


def test_a_paused_deployment_is_scaled_but_not_rolled_out() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("Deployment", "web", replicas=2))
        await cluster.kubelet()
        old = set(cluster.pods())
        cluster.change("Deployment", "web", {"paused": True, "replicas": 3, "template": template("web", MODE="new")})
        await cluster.kubelet()
        assert old < set(cluster.pods())
        assert len(cluster.pods()) == 3
        assert len(cluster.all(REPLICA_SETS)) == 1
        assert condition(cluster.get(DEPLOYMENTS, "web"), "Progressing") == ("Unknown", "DeploymentPaused")

    on_a_cluster(program)


def test_history_is_kept_as_long_as_wanted() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("Deployment", "web", revisionHistoryLimit=2))
        await cluster.kubelet()
        for number in range(5):
            cluster.change("Deployment", "web", {"template": template("web", MODE=str(number))})
            await cluster.kubelet()
        kept = [item["metadata"]["annotations"][REVISION] for item in cluster.all(REPLICA_SETS)]
        assert sorted(kept) == ["4", "5", "6"]

    on_a_cluster(program)


def test_a_pod_that_finishes_or_is_deleted_is_replaced_under_another_name() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("ReplicaSet", "web", replicas=2))
        await cluster.kubelet()
        first, second = cluster.pods()
        cluster.write_status(first, ready=False, phase="Failed")
        cluster.store.delete("pods", "default", second)
        await cluster.settled()
        assert len(set(cluster.pods()) - {first, second}) == 2
        await cluster.kubelet()
        assert cluster.get(REPLICA_SETS, "web")["status"]["readyReplicas"] == 2

    on_a_cluster(program)


def test_fewer_replicas_cost_those_that_are_not_ready() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("ReplicaSet", "web", replicas=3))
        await cluster.settled()
        cluster.write_status(cluster.pods()[1])
        await cluster.settled()
        ready = cluster.pods()[1]
        cluster.change("ReplicaSet", "web", {"replicas": 1})
        await cluster.settled()
        assert cluster.pods() == [ready]

    on_a_cluster(program)


def test_a_refused_pod_is_reported_on_the_replica_set_and_on_the_deployment() -> None:
    async def program(cluster: Cluster) -> None:
        quota = {"metadata": {"name": "none", "namespace": "default"}, "spec": {"hard": {"pods": "0"}}}
        cluster.store.create({"apiVersion": "v1", "kind": "ResourceQuota", **quota})
        cluster.store.create(workload("Deployment", "web"))
        await cluster.settled(5)
        deployment = cluster.get(DEPLOYMENTS, "web")
        assert condition(deployment, "ReplicaFailure") == ("True", "FailedCreate")
        assert any("exceeded quota: none" in item["message"] for item in deployment["status"]["conditions"])

    on_a_cluster(program)


def test_a_pod_is_available_when_it_was_ready_for_long_enough() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("ReplicaSet", "web", minReadySeconds=30))
        await cluster.settled()
        cluster.write_status(cluster.pods()[0])
        await cluster.settled(10)
        status = cluster.get(REPLICA_SETS, "web")["status"]
        assert (status["readyReplicas"], status.get("availableReplicas", 0)) == (1, 0)
        await cluster.settled(30)
        assert cluster.get(REPLICA_SETS, "web")["status"]["availableReplicas"] == 1

    on_a_cluster(program)


def test_deleting_a_deployment_leaves_nothing_and_orphaning_it_leaves_its_pods() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("Deployment", "web"))
        await cluster.kubelet()
        cluster.store.delete(DEPLOYMENTS, "default", "web")
        cluster.store.settle()
        await cluster.kubelet()
        assert cluster.all(REPLICA_SETS) == cluster.all("pods") == []

    on_a_cluster(program)
