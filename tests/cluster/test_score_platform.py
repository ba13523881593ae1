"""The platform's configuration on a real API server: hot, checked, and with policies; and an upgrade and the way back.

The rules are those of docs/spec/score/claims.md and workload.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from seamark.api.score import Workload
from seamark.families.score.family import CRDS, without_runtime
from seamark_cluster.real.plane import ControlPlane, Options, User
from tests.cluster.recorder import recorded
from tests.cluster.requests import install, request
from tests.cluster.rights import OPERATOR
from tests.cluster.score_operator import MERGE, Cluster, Running, running

CONFIGS = "/api/v1/namespaces/score-system/configmaps"
RESOURCE = Workload.RESOURCE
URL = "https://app.example.com"
BACKEND = "backends: [{backendId: e, runtimeClass: ecs}]"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """One of its own: the configuration is for the whole cluster."""
    with ControlPlane(Options(users=(User(OPERATOR),))) as plane:
        for crd in CRDS:
            install(plane, crd)
        assert request(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": "score-system"}}).code == 201
        yield plane


@pytest.fixture
def cluster(plane: ControlPlane) -> Cluster:
    return Cluster(plane, "default")


@pytest.fixture
def at_work(plane: ControlPlane) -> Iterator[Running]:
    with recorded(plane, RESOURCE, namespace="default"), running(plane, without_runtime()) as operator:
        yield operator


def configure(plane: ControlPlane, text: str) -> None:
    data = {"data": {"config.yaml": text}}
    changed = request(plane, "PATCH", f"{CONFIGS}/orchestrator-config", data, content_type=MERGE)
    if changed.code == 404:
        changed = request(plane, "POST", CONFIGS, {"metadata": {"name": "orchestrator-config"}, **data})
    assert changed.code in (200, 201), changed.body


def profile(endpoint: str = "") -> str:
    policies = f", {endpoint}" if endpoint else ""
    return f"spec: {{profiles: [{{name: web, {BACKEND}{policies}}}], defaults: {{profile: web}}}}"


def published(scope: str = "Public") -> dict[str, Any]:
    return {"exposures": [{"url": URL, "scope": scope}]}


@pytest.mark.usefixtures("at_work")
def test_a_configuration_counts_at_once_and_a_bad_one_never_does(plane: ControlPlane, cluster: Cluster) -> None:
    cluster.apply("config")
    assert cluster.until_exposed(name="config")["spec"]["runtimeClass"] == "kubernetes"
    configure(plane, profile())
    cluster.until(
        lambda: (cluster.get("workloadexposures", "config").get("spec") or {}).get("runtimeClass") == "ecs",
        "another runtime is asked",
    )
    configure(plane, "spec: {profiles: []}")
    cluster.until(lambda: "ConfigInvalid" in told(plane), "the mistake is reported")
    cluster.apply("later")
    assert cluster.until_exposed(name="later")["spec"]["runtimeClass"] == "ecs"


def told(plane: ControlPlane) -> list[str]:
    """What events say about the configuration."""
    found = request(plane, "GET", "/apis/events.k8s.io/v1/namespaces/score-system/events").body["items"]
    return [one["reason"] for one in found if one["regarding"]["name"] == "orchestrator-config"]


def test_the_last_good_configuration_outlives_a_restart(plane: ControlPlane, cluster: Cluster) -> None:
    configure(plane, profile())
    with running(plane, without_runtime()):
        cluster.apply("stays")
        cluster.until_exposed(name="stays")
        cluster.publish(published(), "stays")
        cluster.until_condition("Ready", "True", name="stays")
        copy = f"{CONFIGS}/orchestrator-config.last-good"
        cluster.until(lambda: "runtimeClass: ecs" in str(request(plane, "GET", copy).body.get("data")), "a copy")
    configure(plane, "spec: {profiles: [], colour: red}")
    before = cluster.get("workloads", "stays")["metadata"]["resourceVersion"]
    with running(plane, without_runtime()):
        cluster.apply("new")
        assert cluster.until_exposed(name="new")["spec"]["runtimeClass"] == "ecs"
        assert cluster.get("workloads", "stays")["metadata"]["resourceVersion"] == before


@pytest.mark.usefixtures("at_work")
def test_policies_hide_and_replace_what_was_published(plane: ControlPlane, cluster: Cluster) -> None:
    configure(plane, profile())
    cluster.apply("policy")
    cluster.until_exposed(name="policy")
    cluster.publish(published("ClusterLocal"), "policy")
    cluster.until_endpoint(URL, "policy")
    configure(plane, profile("endpoint: {scopes: [Public]}"))
    cluster.until_endpoint(None, "policy")
    cluster.publish(published("Public"), "policy")
    cluster.until_endpoint(URL, "policy")
    template = '"https://{{.workload.name}}.{{.workload.namespace}}.example.org"'
    configure(plane, profile(f"endpoint: {{endpointTemplate: {template}}}"))
    cluster.until_endpoint("https://policy.default.example.org", "policy")
    configure(plane, profile())
    cluster.until_endpoint(URL, "policy")


def test_a_bad_configuration_from_the_beginning_is_told_on_the_workload(plane: ControlPlane, cluster: Cluster) -> None:
    for name in ("orchestrator-config", "orchestrator-config.last-good"):
        request(plane, "DELETE", f"{CONFIGS}/{name}")
    configure(plane, "spec: {profiles: [], colour: red}")
    with running(plane, without_runtime()):
        cluster.apply("unlucky")
        told = cluster.until_condition("InputsValid", "Unknown", "RuntimeSelecting", "unlucky")
        assert "config.yaml of ConfigMap score-system/orchestrator-config" in told["message"]
        configure(plane, profile())
        cluster.until_condition("InputsValid", "True", name="unlucky")


def test_an_upgrade_makes_exposures_and_going_back_leaves_all_as_it_is(plane: ControlPlane, cluster: Cluster) -> None:
    configure(plane, profile())
    cluster.apply("old")
    before = {"status": {"endpoint": "https://derived.example.com"}}  # by what was there before us
    path = cluster.path("workloads", "old", "status")
    assert request(plane, "PATCH", path, before, content_type=MERGE).code == 200
    with running(plane, without_runtime()):
        cluster.until_exposed(name="old")
        cluster.until_condition("InputsValid", "True", name="old")
        assert cluster.endpoint("old") == "https://derived.example.com"
        cluster.publish(published(), "old")
        cluster.until_endpoint(URL, "old")
    assert cluster.endpoint("old") == URL
    assert cluster.get("workloadexposures", "old")["status"] == published()
