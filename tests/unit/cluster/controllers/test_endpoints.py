"""EndpointSlices and what every namespace has."""

from __future__ import annotations

from typing import Any

from tests.unit.cluster.controllers.small_cluster import Cluster, on_a_cluster, service, template, workload

SLICES = "endpointslices.discovery.k8s.io"


def addresses(cluster: Cluster, *, ready: bool = True) -> list[str]:
    found: list[dict[str, Any]] = [each for item in cluster.all(SLICES) for each in item["endpoints"] or ()]
    return sorted(each["addresses"][0] for each in found if each["conditions"]["ready"] is ready)


def test_a_service_has_the_ready_pods_that_it_selects() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(service("web"))
        cluster.store.create(workload("ReplicaSet", "web", replicas=2))
        cluster.store.create(workload("ReplicaSet", "other"))
        await cluster.kubelet()
        (made,) = cluster.all(SLICES)
        assert made["metadata"]["labels"]["kubernetes.io/service-name"] == "web"
        assert made["ports"] == [{"name": "", "port": 3000, "protocol": "TCP"}]
        assert len(addresses(cluster)) == 2
        (old,) = cluster.get("endpoints", "web")["subsets"]
        assert sorted(address["ip"] for address in old["addresses"]) == addresses(cluster)
        assert old["ports"] == [{"port": 3000, "protocol": "TCP"}]
        cluster.write_status(next(name for name in cluster.pods() if name.startswith("web")), ready=False)
        await cluster.settled()
        assert (len(addresses(cluster)), len(addresses(cluster, ready=False))) == (1, 1)
        (old,) = cluster.get("endpoints", "web")["subsets"]
        assert (len(old["addresses"]), len(old["notReadyAddresses"])) == (1, 1)
        before = cluster.store.revisions.current
        await cluster.settled(600)
        assert cluster.store.revisions.current == before

    on_a_cluster(program)


def test_pods_at_loopback_addresses_are_in_slices_alone_and_nothing_is_tried_again() -> None:
    """The API server accepts no loopback address in Endpoints: each attempt would be one more event, without end."""

    async def program(cluster: Cluster) -> None:
        cluster.network = "127.244.0"
        cluster.store.create(service("web"))
        cluster.store.create(workload("ReplicaSet", "web"))
        await cluster.kubelet()
        assert addresses(cluster)[0].startswith("127.244.0.")
        assert not cluster.get("endpoints", "web").get("subsets")
        before = cluster.store.revisions.current
        await cluster.settled(3600)
        assert cluster.store.revisions.current == before
        assert not [event for event in cluster.all("events.events.k8s.io") if event["reason"].startswith("FailedTo")]

    on_a_cluster(program)


def test_a_deleted_pod_is_no_longer_ready_and_then_gone() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(service("web"))
        cluster.store.create({"apiVersion": "v1", "kind": "Pod", **template("web")} | {"metadata": a_name("one")})
        await cluster.kubelet()
        cluster.store.revisions.write("pods", ("default", "one"), going(cluster.get("pods", "one")))
        await cluster.settled()
        (made,) = cluster.all(SLICES)
        assert made["endpoints"][0]["conditions"] == {"ready": False, "serving": True, "terminating": True}
        await cluster.kubelet()
        assert addresses(cluster, ready=False) == []

    on_a_cluster(program)


def a_name(name: str) -> dict[str, Any]:
    return {"name": name, "namespace": "default", "labels": {"app": "web"}}


def going(pod: dict[str, Any]) -> dict[str, Any]:
    stamp = {"deletionTimestamp": "2026-01-01T00:01:00Z", "deletionGracePeriodSeconds": 30}
    return {**pod, "metadata": {**pod["metadata"], **stamp}}


def test_named_ports_that_differ_make_slices_that_differ() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(service("web"))
        for number in (3000, 4000):
            pod = template("web")
            pod["spec"]["containers"][0]["ports"][0]["containerPort"] = number
            named = a_name(f"on-{number}")
            cluster.store.create({"apiVersion": "v1", "kind": "Pod", **pod, "metadata": named})
        await cluster.kubelet()
        assert sorted(item["ports"][0]["port"] for item in cluster.all(SLICES)) == [3000, 4000]

    on_a_cluster(program)


def test_more_than_a_hundred_pods_are_in_several_slices() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(service("web"))
        cluster.store.create(workload("ReplicaSet", "web", replicas=120))
        await cluster.kubelet()
        assert sorted(len(item["endpoints"]) for item in cluster.all(SLICES)) == [20, 100]

    on_a_cluster(program)


def test_a_service_without_selector_keeps_what_others_made_and_one_of_an_external_name_has_none() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create(service("web", selector={}))
        cluster.store.create(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "name": "mine",
                    "namespace": "default",
                    "labels": {"kubernetes.io/service-name": "web"},
                },
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.0.0.1"]}],
            }
        )
        cluster.store.create(service("out", type="ExternalName", externalName="example.com", ports=None))
        await cluster.settled()
        assert [item["metadata"]["name"] for item in cluster.all(SLICES)] == ["mine"]

    on_a_cluster(program)


def test_every_namespace_has_its_account_and_a_deleted_namespace_has_nothing() -> None:
    async def program(cluster: Cluster) -> None:
        cluster.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        await cluster.settled()
        assert cluster.get("serviceaccounts", "default", "shop")
        cluster.store.delete("serviceaccounts", "shop", "default")
        await cluster.settled()
        assert cluster.get("serviceaccounts", "default", "shop")
        cluster.store.delete("namespaces", "", "shop")
        cluster.store.settle()
        await cluster.settled()
        assert cluster.store.get("namespaces", "", "shop") is None
        assert cluster.store.get("serviceaccounts", "shop", "default") is None

    on_a_cluster(program)
