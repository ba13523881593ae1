"""The store's own controllers: garbage collection, deletion of namespaces, quotas."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cluster.embedded.conftest import MERGE, WIDGETS, Cluster, Json, config_map, widget

MAPS = "/api/v1/namespaces/default/configmaps"


def owned(owner: Json, name: str, **reference: Any) -> Json:
    child = config_map(name)
    child["metadata"]["ownerReferences"] = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            **reference,
        }
    ]
    return child


def names(cluster: Cluster) -> list[str]:
    return [item["metadata"]["name"] for item in cluster.ok("GET", MAPS)["items"]]


def test_dependents_go_with_their_last_owner(cluster: Cluster) -> None:
    one, two = cluster.ok("POST", WIDGETS, widget("one")), cluster.ok("POST", WIDGETS, widget("two"))
    cluster.ok("POST", MAPS, owned(one, "ours"))
    both = owned(one, "both")
    both["metadata"]["ownerReferences"] += owned(two, "x")["metadata"]["ownerReferences"]
    cluster.ok("POST", MAPS, both)
    cluster.ok("DELETE", f"{WIDGETS}/one")
    assert names(cluster) == ["both"]
    cluster.ok("DELETE", f"{WIDGETS}/two")
    assert names(cluster) == []


def test_a_dependent_of_an_earlier_object_of_that_name_is_deleted_too(cluster: Cluster) -> None:
    first = cluster.ok("POST", WIDGETS, widget())
    cluster.ok("DELETE", f"{WIDGETS}/w")
    cluster.ok("POST", WIDGETS, widget())
    cluster.ok("POST", MAPS, owned(first, "stale"))
    assert names(cluster) == []


def test_foreground_deletion_waits_for_those_that_block(cluster: Cluster) -> None:
    owner = cluster.ok("POST", WIDGETS, widget())
    child = owned(owner, "child", blockOwnerDeletion=True)
    child["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.ok("POST", MAPS, child)
    cluster.ok("DELETE", f"{WIDGETS}/w", {"propagationPolicy": "Foreground"})
    assert cluster.ok("GET", f"{WIDGETS}/w")["metadata"]["finalizers"] == ["foregroundDeletion"]
    cluster.ok("PATCH", f"{MAPS}/child", {"metadata": {"finalizers": None}}, MERGE)
    cluster.refused(404, "GET", f"{WIDGETS}/w")
    assert names(cluster) == []


def test_orphans_forget_their_owner(cluster: Cluster) -> None:
    owner = cluster.ok("POST", WIDGETS, widget())
    cluster.ok("POST", MAPS, owned(owner, "child"))
    cluster.ok("DELETE", f"{WIDGETS}/w", {"propagationPolicy": "Orphan"})
    assert "ownerReferences" not in cluster.ok("GET", f"{MAPS}/child")["metadata"]
    cluster.refused(404, "GET", f"{WIDGETS}/w")


def test_a_namespace_takes_everything_along_and_accepts_nothing_new(cluster: Cluster) -> None:
    cluster.ok("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    maps = "/api/v1/namespaces/n/configmaps"
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.ok("POST", maps, config_map("free"))
    cluster.ok("POST", maps, held)
    cluster.ok("DELETE", "/api/v1/namespaces/n")
    assert cluster.ok("GET", "/api/v1/namespaces/n")["status"]["phase"] == "Terminating"
    cluster.refused(404, "GET", f"{maps}/free")
    refusal = cluster.refused(403, "POST", maps, config_map("late"))
    assert refusal["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    cluster.ok("PATCH", f"{maps}/held", {"metadata": {"finalizers": None}}, MERGE)
    cluster.refused(404, "GET", "/api/v1/namespaces/n")


def test_a_quota_counts_refuses_and_forgets_what_is_gone(cluster: Cluster) -> None:
    quotas = "/api/v1/namespaces/default/resourcequotas"
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"count/widgets.example.com": "1"}},
    }
    cluster.ok("POST", quotas, quota)
    cluster.ok("POST", WIDGETS, widget("one"))
    refusal = cluster.refused(403, "POST", WIDGETS, widget("two"))
    assert (
        "exceeded quota: q, requested: count/widgets.example.com=1, used: count/widgets.example.com=1"
        in refusal["message"]
    )
    cluster.ok("DELETE", f"{WIDGETS}/one")
    cluster.ok("POST", WIDGETS, widget("two"))
    assert cluster.ok("GET", f"{quotas}/q")["status"]["used"] == {"count/widgets.example.com": "1"}


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_some_namespaces_stay(cluster: Cluster, name: str) -> None:
    cluster.refused(403, "DELETE", f"/api/v1/namespaces/{name}")
