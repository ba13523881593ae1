"""StatefulSets on the embedded cluster."""

from __future__ import annotations

from tests.unit.cluster.controllers.small_cluster import Cluster, on_a_cluster, template, workload

SETS = "statefulsets.apps"


def test_pods_come_one_after_the_other_with_names_that_stay() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("StatefulSet", "db", replicas=3, serviceName="db"))
        await cluster.settled()
        assert cluster.pods() == ["db-0"]
        cluster.write_status("db-0")
        await cluster.settled()
        assert cluster.pods() == ["db-0", "db-1"]
        await cluster.kubelet()
        assert cluster.pods() == ["db-0", "db-1", "db-2"]
        pod = cluster.get("pods", "db-2")
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-2", "db")
        assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "2"
        status = cluster.get(SETS, "db")["status"]
        assert (status["replicas"], status["readyReplicas"], status["currentReplicas"]) == (3, 3, 3)
        assert (
            status["currentRevision"]
            == status["updateRevision"]
            == pod["metadata"]["labels"]["controller-revision-hash"]
        )

    on_a_cluster(program)


def test_in_parallel_all_come_at_once() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("StatefulSet", "db", replicas=3, podManagementPolicy="Parallel"))
        await cluster.settled()
        assert cluster.pods() == ["db-0", "db-1", "db-2"]

    on_a_cluster(program)


def test_fewer_replicas_take_the_highest_first_one_at_a_time() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("StatefulSet", "db", replicas=3))
        await cluster.kubelet()
        cluster.change("StatefulSet", "db", {"replicas": 1})
        await cluster.settled()
        assert cluster.pods() == ["db-0", "db-1"]
        await cluster.kubelet()
        assert cluster.pods() == ["db-0"]

    on_a_cluster(program)


def test_an_update_goes_from_the_highest_number_down_to_the_partition() -> None:
    async def program(cluster: Cluster) -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
        cluster.store.create(workload("StatefulSet", "db", replicas=3, updateStrategy=strategy))
        await cluster.kubelet()
        before = {name: cluster.get("pods", name)["metadata"]["uid"] for name in cluster.pods()}
        cluster.change("StatefulSet", "db", {"template": template("db", MODE="new")})
        await cluster.settled()
        assert cluster.pods() == ["db-0", "db-1"]
        await cluster.kubelet()
        after = {name: cluster.get("pods", name)["metadata"]["uid"] for name in cluster.pods()}
        assert [name for name in after if after[name] == before[name]] == ["db-0"]
        status = cluster.get(SETS, "db")["status"]
        assert (status["updatedReplicas"], status["currentReplicas"]) == (2, 1)
        assert status["currentRevision"] != status["updateRevision"]
        cluster.change(
            "StatefulSet",
            "db",
            {
                "template": template("db", MODE="new"),
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            },
        )
        await cluster.kubelet()
        status = cluster.get(SETS, "db")["status"]
        assert status["currentRevision"] == status["updateRevision"]
        assert len(cluster.all("controllerrevisions.apps")) == 2

    on_a_cluster(program)


def test_a_pod_that_failed_comes_again_under_its_name() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(workload("StatefulSet", "db", replicas=1))
        await cluster.kubelet()
        uid = cluster.get("pods", "db-0")["metadata"]["uid"]
        cluster.write_status("db-0", ready=False, phase="Failed")
        await cluster.kubelet()
        assert cluster.get("pods", "db-0")["metadata"]["uid"] != uid

    on_a_cluster(program)


def test_claims_come_with_the_pods_and_outlive_them() -> None:
    async def program(cluster: Cluster) -> None:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        wanted = [{"metadata": {"name": "data"}, "spec": spec}]
        cluster.store.create(workload("StatefulSet", "my-db", replicas=2, volumeClaimTemplates=wanted))
        await cluster.kubelet()
        claims = [item["metadata"]["name"] for item in cluster.all("persistentvolumeclaims")]
        assert claims == ["data-my-db-0", "data-my-db-1"]
        volumes = cluster.get("pods", "my-db-1")["spec"]["volumes"]
        assert volumes == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-my-db-1"}}]
        cluster.change("StatefulSet", "my-db", {"replicas": 1})
        await cluster.kubelet()
        cluster.store.delete(SETS, "default", "my-db")
        cluster.store.settle()
        await cluster.kubelet()
        assert cluster.all("pods") == []
        assert [entry["metadata"]["name"] for entry in cluster.all("persistentvolumeclaims")] == claims

    on_a_cluster(program)
