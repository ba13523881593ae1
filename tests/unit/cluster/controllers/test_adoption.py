"""Matching objects without a controller are adopted, those that no longer match are released."""

from __future__ import annotations

from seamark_cluster.embedded.machinery.errors import Json
from seamark_runtime.transport import HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.unit.cluster.controllers.small_cluster import Cluster, on_a_cluster, workload


def orphan(cluster: Cluster, plural: str, name: str) -> None:
    """Deletes an owner and orphans its dependents."""
    path = f"/apis/apps/v1/namespaces/default/{plural}/{name}"
    answer = cluster.store.handle(HttpRequest("DELETE", received_path(path), query={"propagationPolicy": "Orphan"}))
    assert answer.status == 200
    cluster.store.settle()
    assert cluster.store.get(f"{plural}.apps", "default", name) is None


def uids(cluster: Cluster, resource: str) -> set[str]:
    return {item["metadata"]["uid"] for item in cluster.all(resource) if "deletionTimestamp" not in item["metadata"]}


def controllers_of(cluster: Cluster, resource: str) -> set[str]:
    return {
        reference["uid"] for item in cluster.all(resource) for reference in item["metadata"].get("ownerReferences", ())
    }


def test_a_deployment_made_again_takes_its_replica_set_and_pods_back() -> None:
    async def program(cluster: Cluster) -> None:
        manifest: Json = workload("Deployment", "web", replicas=2)
        cluster.store.create(manifest)
        await cluster.kubelet()
        before = uids(cluster, "replicasets.apps"), uids(cluster, "pods")
        orphan(cluster, "deployments", "web")
        await cluster.kubelet()
        made = cluster.store.create(manifest)
        await cluster.kubelet()
        assert (uids(cluster, "replicasets.apps"), uids(cluster, "pods")) == before
        assert controllers_of(cluster, "replicasets.apps") == {made["metadata"]["uid"]}
        assert cluster.get("deployments.apps", "web")["status"]["availableReplicas"] == 2

    on_a_cluster(program)


def test_a_replica_set_and_a_stateful_set_take_pods_in_that_fit() -> None:
    async def program(cluster: Cluster) -> None:
        for kind, plural, name in (("ReplicaSet", "replicasets", "web"), ("StatefulSet", "statefulsets", "db")):
            manifest: Json = workload(kind, name, replicas=2)
            cluster.store.create(manifest)
            await cluster.kubelet()
            before = uids(cluster, "pods")
            orphan(cluster, plural, name)
            await cluster.kubelet()
            assert uids(cluster, "pods") == before
            cluster.store.create(manifest)
            await cluster.kubelet()
            assert uids(cluster, "pods") == before
            assert cluster.get(f"{plural}.apps", name)["status"]["readyReplicas"] == 2

    on_a_cluster(program)


def test_a_pod_whose_labels_are_changed_is_released_and_replaced() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("ReplicaSet", "web", replicas=2))
        await cluster.kubelet()
        name = cluster.pods()[0]
        meta = {"name": name, "namespace": "default", "labels": {"app": "looked-at"}}
        cluster.store.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta}, "person")
        await cluster.kubelet()
        assert "ownerReferences" not in cluster.get("pods", name)["metadata"]
        assert len(cluster.pods()) == 3
        assert cluster.get("replicasets.apps", "web")["status"]["readyReplicas"] == 2

    on_a_cluster(program)
