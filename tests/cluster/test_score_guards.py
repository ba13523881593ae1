"""Every row of the condition table and every guard, on a real API server; a plain client plays the runtime.

The rules are those of docs/spec/score: workload.md, exposure.md and claims.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from seamark.families.score.family import without_runtime
from seamark_runtime.controller import Declaration
from tests.cluster.requests import request
from tests.cluster.score_operator import Cluster

URL = "https://app.example.com"
NOW = "2026-01-01T00:00:00Z"
ROWS = {
    "Healthy": ("True", "Succeeded"),
    "Available": ("True", "Succeeded"),
    "Selecting": ("False", "RuntimeProvisioning"),
    "Provisioning": ("False", "RuntimeProvisioning"),
    "Applying": ("False", "RuntimeProvisioning"),
    "LBPending": ("False", "NetworkUnavailable"),
    "IngressPending": ("False", "NetworkUnavailable"),
    "DNSNotReady": ("False", "NetworkUnavailable"),
    "Degraded": ("False", "RuntimeDegraded"),
    "PolicyViolation": ("False", "PolicyViolation"),
    "QuotaExceeded": ("False", "QuotaExceeded"),
    "PermissionDenied": ("False", "PermissionDenied"),
}


def controllers() -> tuple[Declaration, ...]:
    return without_runtime()


def events(cluster: Cluster) -> list[str]:
    path = f"/apis/events.k8s.io/v1/namespaces/{cluster.namespace}/events"
    return [one["reason"] for one in request(cluster.plane, "GET", path).body["items"]]


def condition(type_: str, status: str = "True") -> dict[str, str]:
    return {"type": type_, "status": status, "reason": "Test", "message": f"{type_} says", "lastTransitionTime": NOW}


def says(cluster: Cluster, words: str) -> Callable[[], bool]:
    return lambda: cluster.condition("RuntimeReady")["message"] == words


def test_every_row_of_the_table_reaches_the_workload_and_stays(cluster: Cluster) -> None:
    cluster.apply()
    cluster.until_exposed()
    for type_, (status, reason) in ROWS.items():
        cluster.publish({"exposures": [{"url": URL}], "conditions": [condition(type_)]})
        told = cluster.until_condition("RuntimeReady", status, reason)
        cluster.until(says(cluster, f"{type_} says"), "its own words")
        assert told["observedGeneration"] == 1
        cluster.until_condition("Ready", status, reason)
        assert cluster.endpoint() == URL
    cluster.publish({"exposures": [{"url": URL}], "conditions": [condition("Zorp"), condition("Healthy")]})
    cluster.until_condition("Ready", "True", "Succeeded")
    cluster.publish({"exposures": [{"url": URL, "reachable": False}], "conditions": [condition("Healthy")]})
    cluster.until_condition("Ready", "False", "RuntimeDegraded")


def test_an_observed_generation_on_a_condition_opens_the_guard_and_an_older_one_does_not(cluster: Cluster) -> None:
    cluster.apply()
    first = cluster.until_exposed()["metadata"]["generation"]
    answered = {**condition("Healthy"), "observedGeneration": first}
    cluster.publish({"exposures": [{"url": URL}], "conditions": [answered]})
    cluster.until_endpoint(URL)
    cluster.edit({"spec": {"containers": {"main": {"image": "nginx:2"}}}})
    second = cluster.until_exposed(generation=2)["metadata"]["generation"]
    assert second > first
    cluster.publish({"exposures": [{"url": "https://late.example.com"}], "conditions": [answered]})
    cluster.until_condition("RuntimeReady", "Unknown", "RuntimeProvisioning")
    assert cluster.endpoint() == URL
    now = {**condition("Healthy"), "observedGeneration": second}
    cluster.publish({"exposures": [{"url": "https://now.example.com"}], "conditions": [now]})
    cluster.until_endpoint("https://now.example.com")


def test_a_runtime_that_flaps_costs_at_most_five_writes_a_second(cluster: Cluster) -> None:
    cluster.apply()
    cluster.until_exposed()
    cluster.publish({"exposures": [{"url": URL}]})
    cluster.until_condition("Ready", "True")
    position, began = cluster.plane.audit.mark(), time.monotonic()
    for number in range(40):
        cluster.publish({"exposures": [{"url": f"https://{number}.example.com"}]})
    cluster.until_endpoint("https://39.example.com")
    seconds = time.monotonic() - began
    written = [
        entry
        for entry in cluster.plane.audit.entries(position)
        if entry.verb == "patch" and entry.subresource == "status" and entry.namespace == cluster.namespace
        if entry.resource == "workloads"
    ]
    assert 1 <= len(written) <= 5 * seconds + 2


def test_a_life_without_trouble_makes_no_event(cluster: Cluster) -> None:
    cluster.apply(resources={"name": {"type": "dns"}})
    cluster.until_exposed()
    cluster.publish({"exposures": [{"url": URL}]})
    cluster.until_condition("Ready", "True")
    assert events(cluster) == []
    cluster.publish({"exposures": [{"url": "https://other.example.com"}]})
    cluster.until_endpoint("https://other.example.com")
    cluster.until(lambda: events(cluster) == ["EndpointChanged"], "a change is reported")
    described = cluster.plane.kubectl("describe", "workload", "app", "-n", cluster.namespace)
    for words in ("https://other.example.com", "RuntimeReady", "EndpointChanged", "Observed Generation"):
        assert words in described


def test_an_exposure_that_is_refused_is_told_and_made_when_it_can_be(cluster: Cluster) -> None:
    path = f"/api/v1/namespaces/{cluster.namespace}/resourcequotas"
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"count/workloadexposures.score.dev": "0"}}}
    assert request(cluster.plane, "POST", path, quota).code == 201

    def in_force() -> bool:
        return bool((request(cluster.plane, "GET", f"{path}/none").body.get("status") or {}).get("hard"))

    cluster.until(in_force, "the quota is in force")
    cluster.apply()
    cluster.until(lambda: "ExposureRefused" in events(cluster), "it is told")
    assert cluster.get("workloadexposures") == {}
    assert request(cluster.plane, "DELETE", f"{path}/none").code == 200
    cluster.until_exposed()


def test_a_name_that_no_service_can_have_is_told_and_others_go_on(cluster: Cluster) -> None:
    cluster.apply("a.b", service={"ports": [{"port": 80}]})
    cluster.apply("good", service={"ports": [{"port": 80}]})
    told = cluster.until_condition("InputsValid", "False", "SpecInvalid", "a.b")
    assert "metadata.name: 'a.b' can't name a Service" in told["message"]
    cluster.until_exposed(name="good")
    cluster.publish({"exposures": [{"url": URL}]}, "good")
    cluster.until_condition("Ready", "True", name="good")


def test_a_claim_goes_stays_or_leaves_its_outputs_as_its_policy_says(cluster: Cluster) -> None:
    def one(policy: str) -> dict[str, Any]:
        return {"type": "dns", "metadata": {"annotations": {"score.dev/deprovision-policy": policy}}}

    kept = {policy.lower(): one(policy) for policy in ("Delete", "Retain", "Orphan")}
    cluster.apply(resources=kept)
    cluster.until_condition("ClaimsReady", "True")
    cluster.edit({"spec": {"resources": None}})
    outputs = f"/api/v1/namespaces/{cluster.namespace}/configmaps"

    def there(key: str) -> tuple[bool, bool]:
        given = request(cluster.plane, "GET", f"{outputs}/app.{key}.outputs").code == 200
        return bool(cluster.get("resourceclaims", f"app.{key}")), given

    cluster.until(lambda: there("delete") == (False, False), "all of it is gone")
    cluster.until(lambda: there("retain") == (False, True), "its outputs stay")
    cluster.until(lambda: there("orphan") == (True, True), "it stays")
    cluster.delete("workloads")
    cluster.until(lambda: cluster.get("workloadplans") == {}, "the plan is gone")
    assert there("retain") == (False, True)
    assert there("orphan") == (True, True)
