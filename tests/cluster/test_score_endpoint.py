"""A Workload's endpoint on a real API server, with a foreign runtime that a plain client plays.

The rules are those of docs/spec/score/workload.md.
"""

from __future__ import annotations

from typing import Any

import pytest

from seamark.families.score.family import without_runtime
from seamark_runtime.controller import Declaration
from tests.cluster.requests import request
from tests.cluster.score_operator import Cluster

URL = "https://app.example.com"
TIME = "2026-01-01T00:00:00Z"
PORTS = {"ports": [{"port": 80}]}


def controllers() -> tuple[Declaration, ...]:
    return without_runtime()


def published(url: str, **more: Any) -> dict[str, Any]:
    return {"exposures": [{"url": url}], **more}


def test_what_a_foreign_runtime_publishes_is_the_endpoint_and_makes_the_workload_ready(cluster: Cluster) -> None:
    made = cluster.apply(service=PORTS).body
    exposure = cluster.until_exposed()
    assert exposure["spec"] == {
        "workloadRef": {"name": "app", "namespace": cluster.namespace, "uid": made["metadata"]["uid"]},
        "observedWorkloadGeneration": 1,
        "runtimeClass": "kubernetes",
    }
    (owner,) = exposure["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Workload", made["metadata"]["uid"])
    assert "status" not in exposure
    cluster.until_condition("InputsValid", "True")
    cluster.until_condition("ClaimsReady", "True")
    cluster.publish(published(URL))
    cluster.until_endpoint(URL)
    cluster.until_condition("Ready", "True", "Succeeded")


def test_a_new_generation_keeps_the_endpoint_and_is_unknown_until_the_runtime_has_answered(cluster: Cluster) -> None:
    cluster.apply()
    cluster.until_exposed()
    cluster.publish(published(URL))  # by a runtime that follows the seed alone: no generation anywhere
    cluster.until_condition("Ready", "True")
    cluster.edit({"spec": {"containers": {"main": {"image": "nginx:2"}}}})
    cluster.until_exposed(generation=2)
    cluster.until_condition("RuntimeReady", "Unknown", "RuntimeProvisioning")
    cluster.until_condition("Ready", "Unknown")
    assert cluster.endpoint() == URL
    cluster.publish(published(URL))  # the same words: they were written for this generation
    cluster.until_condition("Ready", "True")
    assert cluster.endpoint() == URL
    cluster.publish(published("https://new.example.com"))
    cluster.until_endpoint("https://new.example.com")


def test_the_conditions_of_an_older_orchestrators_runtime_make_a_workload_ready(cluster: Cluster) -> None:
    cluster.apply()
    cluster.until_exposed()
    ready = {"type": "RuntimeReady", "status": "True", "reason": "Available", "message": "", "lastTransitionTime": TIME}
    cluster.publish({"exposures": [{"url": URL, "ready": False}], "conditions": [ready]})
    cluster.until_condition("RuntimeReady", "False", "NetworkUnavailable")
    cluster.publish({"exposures": [{"url": URL, "ready": True}], "conditions": [ready]})
    cluster.until_condition("Ready", "True", "Succeeded")
    cluster.publish({"conditions": [{**ready, "status": "False", "reason": "DiskFull", "message": "no space"}]})
    assert cluster.until_condition("RuntimeReady", "False", "RuntimeDegraded")["message"] == "DiskFull: no space"


@pytest.mark.parametrize("url", ["http://a..b", "javascript:alert(1)", "app.example.com:8080"])
def test_what_is_no_place_is_not_mirrored_and_named(cluster: Cluster, url: str) -> None:
    cluster.apply()
    cluster.until_exposed()
    cluster.publish(published(url))
    message = cluster.until_condition("RuntimeReady", "Unknown", "RuntimeProvisioning")["message"]
    assert message.startswith("The published URL is not valid: ")
    assert cluster.endpoint() is None


def test_an_answer_for_an_older_generation_is_ignored(cluster: Cluster) -> None:
    cluster.apply()
    cluster.until_exposed()
    cluster.publish(published(URL, observedWorkloadGeneration=1))
    cluster.until_endpoint(URL)
    cluster.edit({"spec": {"profile": "batch"}})
    cluster.until_exposed(generation=2)
    cluster.publish(published("https://late.example.com", observedWorkloadGeneration=1))
    cluster.until_condition("RuntimeReady", "Unknown")
    assert cluster.endpoint() == URL
    cluster.publish(published("https://now.example.com", observedWorkloadGeneration=2))
    cluster.until_endpoint("https://now.example.com")


def test_an_invalid_url_keeps_the_previous_one_and_is_told(cluster: Cluster) -> None:
    cluster.apply()
    cluster.until_exposed()
    cluster.publish(published(URL))
    cluster.until_endpoint(URL)
    cluster.publish({"exposures": [{"url": "http://fine"}, {"url": "not a url", "priority": 9}]})
    cluster.until_condition("RuntimeReady", "Unknown", "RuntimeProvisioning")
    assert cluster.endpoint() == URL
    events = f"/apis/events.k8s.io/v1/namespaces/{cluster.namespace}/events"

    def told() -> bool:
        items = request(cluster.plane, "GET", events).body["items"]
        return any(one["reason"] == "InvalidURL" and one["type"] == "Warning" for one in items)

    cluster.until(told, "a warning about the URL")


def test_nothing_published_takes_the_endpoint_away_and_a_deleted_exposure_does_not(cluster: Cluster) -> None:
    cluster.apply()
    before = cluster.until_exposed()["metadata"]["uid"]
    cluster.publish(published(URL))
    cluster.until_endpoint(URL)
    cluster.delete("workloadexposures")
    cluster.until(
        lambda: cluster.get("workloadexposures").get("metadata", {}).get("uid", before) != before, "a new exposure"
    )
    cluster.until_condition("RuntimeReady", "Unknown")
    assert cluster.endpoint() == URL
    cluster.publish({"exposures": []})
    cluster.until_endpoint(None)


def test_a_recreated_workload_of_the_same_name_inherits_nothing(cluster: Cluster) -> None:
    cluster.apply()
    old = cluster.until_exposed()["metadata"]["uid"]
    cluster.publish(published(URL))
    cluster.until_endpoint(URL)
    cluster.delete("workloads")
    new = cluster.apply().body["metadata"]["uid"]

    def its_own() -> bool:
        exposure = cluster.get("workloadexposures")
        return bool(exposure and exposure["spec"]["workloadRef"]["uid"] == new)

    cluster.until(its_own, "an exposure of its own")
    exposure = cluster.get("workloadexposures")
    assert exposure["metadata"]["uid"] != old
    assert "status" not in exposure
    assert cluster.endpoint() is None
    assert [owner["uid"] for owner in exposure["metadata"]["ownerReferences"]] == [new]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"profile": "zorp"}, "there is no profile 'zorp'"),
        (
            {"containers": {"main": {"image": "a", "variables": {"A": "${resources.db.host}"}}}},
            "containers.main.variables.A: ${resources.db.host} names nothing",
        ),
        (
            {
                "resources": {
                    "a": {"type": "route", "params": {"host": "${resources.b.host}"}},
                    "b": {"type": "route", "params": {"host": "${resources.a.host}"}},
                }
            },
            "resources.a.params: there is a cycle of references: a → b → a",
        ),
        (
            {"containers": {"main": {"image": "a", "files": [{"target": "/a", "content": "x" * 1_048_576}]}}},
            "containers.main.files: 1048576 bytes",
        ),
    ],
    ids=["a profile", "a placeholder", "a circle", "a megabyte"],
)
def test_what_can_not_be_is_told_at_once(cluster: Cluster, spec: dict[str, Any], words: str) -> None:
    cluster.apply(**spec)
    told = cluster.until_condition("InputsValid", "False", "SpecInvalid")
    assert words in told["message"]
    cluster.until_condition("Ready", "False", "SpecInvalid")
    assert cluster.get("workloadplans") == {}


def test_claims_are_made_bound_and_removed_with_their_resource(cluster: Cluster) -> None:
    cluster.apply(
        containers={
            "main": {"image": "a", "variables": {"URL": "redis://:${resources.cache.password}@${resources.cache.host}"}}
        },
        resources={"cache": {"type": "redis"}, "name": {"type": "dns"}},
    )
    cluster.until_condition("ClaimsReady", "False", "Claiming")
    claims = {claim["key"]: claim["phase"] for claim in cluster.get("workloads")["status"]["claims"]}
    assert claims == {"cache": "Claiming", "name": "Bound"}
    assert cluster.get("workloadplans") == {}
    secrets = f"/api/v1/namespaces/{cluster.namespace}/secrets"
    secret = {"metadata": {"name": "app.cache"}, "stringData": {"password": "hunter2"}}
    assert request(cluster.plane, "POST", secrets, secret).code == 201
    cluster.until_condition("ClaimsReady", "True", "Succeeded")
    cluster.until_exposed()
    plan = cluster.get("workloadplans")
    assert plan["spec"]["resolvedValues"]["containers"]["main"]["variables"]["URL"] == [
        "redis://:",
        {"secret": "app.cache", "key": "password"},
        "@app-cache",
    ]
    assert "hunter2" not in str(plan)
    request(cluster.plane, "DELETE", f"{secrets}/app.cache")
    told = cluster.until_condition("ClaimsReady", "False", "Claiming")
    assert "The Secret app.cache is not there" in told["message"]
    cluster.edit({"spec": {"resources": {"name": None}}})
    cluster.until(lambda: cluster.get("resourceclaims", "app.name") == {}, "the claim is gone")
