"""The subresources other than status: scale, binding, eviction, tokens, and finalize of a namespace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fidelity.arena import Arena
from tests.fidelity.differences import compare
from tests.fidelity.operations import APPLY, JSON_PATCH, MERGE
from tests.fidelity.samples import DEPLOYMENT, POD, STATEFUL_SET, Json, Sample
from tests.fidelity.sides import Reply


def both(arena: Arena, method: str, path: str, body: Any = None, media: str = "application/json") -> Reply:
    data = b"" if body is None else json.dumps(body).encode()
    arena.operations += 1
    real, store = (side.ask(method, path, {}, data, media) for side in arena.sides)
    found = compare(_without_token(real), _without_token(store))
    assert not found, "\n".join([f"{method} {path} {json.dumps(body)}", *found])
    return store


def _without_token(reply: Reply) -> Reply:
    if isinstance(reply.body, dict) and reply.body.get("kind") == "TokenRequest" and reply.code == 201:
        assert reply.body["status"].pop("token")
        reply.body["status"].pop("expirationTimestamp")
        reply.body["metadata"].pop("managedFields", None)
    return reply


def object_of(sample: Sample, name: str) -> Json:
    return {"apiVersion": sample.api_version, "kind": sample.kind, "metadata": {"name": name}, **sample.good}


@pytest.mark.parametrize("sample", [DEPLOYMENT, STATEFUL_SET], ids=repr)
def test_a_scale_is_the_same_on_both_sides(arena: Arena, sample: Sample) -> None:
    namespace = arena.session().namespace
    path = f"{sample.collection(namespace)}/a/scale"
    assert both(arena, "GET", path).code == 404
    both(arena, "POST", sample.collection(namespace), object_of(sample, "a"))
    assert both(arena, "GET", path).body["spec"] == {"replicas": 1}
    scale: Json = {"metadata": {"name": "a", "namespace": namespace}}
    for spec in ({"replicas": 3}, {"replicas": 0}, {"replicas": -1}, {}, {"replicas": "x"}):
        both(arena, "PUT", path, {**scale, "spec": spec})
    stale = {**scale, "metadata": {**scale["metadata"], "resourceVersion": "1"}, "spec": {"replicas": 4}}
    assert both(arena, "PUT", path, stale).code == 409
    assert both(arena, "PATCH", path, {"spec": {"replicas": 5}}, MERGE).body["spec"] == {"replicas": 5}
    both(arena, "PATCH", path, [{"op": "replace", "path": "/spec/replicas", "value": 6}], JSON_PATCH)
    both(arena, "PATCH", path, {"spec": {"replicas": -5}}, MERGE)
    both(arena, "GET", f"{sample.collection(namespace)}/a")
    assert both(arena, "DELETE", path).code == 405
    assert both(arena, "POST", path, {**scale, "spec": {}}).code == 405


def test_a_pod_is_bound_once(arena: Arena) -> None:
    namespace = arena.session().namespace
    pods = POD.collection(namespace)
    binding = {"metadata": {"name": "a"}, "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"}}
    assert both(arena, "POST", f"{pods}/a/binding", binding).code == 404
    both(arena, "POST", pods, object_of(POD, "a"))
    both(arena, "POST", f"{pods}/a/binding", {**binding, "target": {"kind": "Node", "name": ""}})
    assert both(arena, "POST", f"{pods}/a/binding", binding).code == 201
    assert both(arena, "GET", f"{pods}/a").body["spec"]["nodeName"] == "n1"
    assert both(arena, "POST", f"{pods}/a/binding", binding).code == 409


def test_a_pod_is_evicted_unless_a_budget_forbids_it(arena: Arena) -> None:
    namespace = arena.session().namespace
    pods = POD.collection(namespace)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a", "namespace": namespace}}
    assert both(arena, "POST", f"{pods}/a/eviction", eviction).code == 404
    for name in ("a", "b"):
        pod = object_of(POD, name)
        pod["metadata"]["labels"] = {"app": name}
        both(arena, "POST", pods, pod)
    both(arena, "PATCH", f"{pods}/b/status", {"status": {"phase": "Running"}}, MERGE)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "b"}}},
    }
    budgets = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    both(arena, "POST", budgets, budget)
    assert both(arena, "POST", f"{pods}/a/eviction", eviction).code == 201
    assert both(arena, "GET", f"{pods}/a").code == 404
    held = {**eviction, "metadata": {"name": "b", "namespace": namespace}}
    assert both(arena, "POST", f"{pods}/b/eviction", held).code == 429
    status = {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}
    both(arena, "PATCH", f"{budgets}/b/status", {"status": {"observedGeneration": 1, **status}}, MERGE)
    assert both(arena, "POST", f"{pods}/b/eviction", held).code == 201


def test_a_service_account_gets_a_token(arena: Arena) -> None:
    namespace = arena.session().namespace
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    assert both(arena, "POST", f"{accounts}/a/token", {"spec": {}}).code == 404
    both(arena, "POST", accounts, {"metadata": {"name": "a"}})
    for spec in ({}, {"expirationSeconds": 7200}, {"audiences": ["x"]}, {"expirationSeconds": 1}):
        both(arena, "POST", f"{accounts}/a/token", {"spec": spec})
    for side in arena.sides:
        made = side.ask("POST", f"{accounts}/a/token", {}, b'{"spec": {}}', "application/json").body
        review = json.dumps({"spec": {"token": made["status"]["token"]}}).encode()
        reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
        status = side.ask("POST", reviews, {}, review, "application/json").body["status"]
        assert status["authenticated"]
        assert status["user"]["username"] == f"system:serviceaccount:{namespace}:a"
        assert f"system:serviceaccounts:{namespace}" in status["user"]["groups"]


def test_a_namespace_is_finalized(arena: Arena) -> None:
    namespace = arena.session().namespace
    path = f"/api/v1/namespaces/{namespace}"
    both(arena, "PUT", f"{path}/finalize", {"metadata": {"name": namespace}, "spec": {"finalizers": ["a.b/c"]}})
    both(arena, "PUT", f"{path}/finalize", {"metadata": {"name": namespace}, "spec": {"finalizers": ["no slash"]}})
    assert both(arena, "GET", path).body["spec"]["finalizers"] == ["a.b/c"]
    both(arena, "DELETE", path)
    assert both(arena, "POST", f"{path}/configmaps", {"metadata": {"name": "late"}}).code == 403
    both(arena, "PATCH", path, {"metadata": {"labels": {"x": "y"}}}, MERGE)
    config = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": {"z": "y"}}}
    for side in arena.sides:
        reply = side.ask("PATCH", path, {"fieldManager": "one"}, json.dumps(config).encode(), APPLY)
        assert reply.code == 200
    both(arena, "PUT", f"{path}/finalize", {"metadata": {"name": namespace}})
    assert both(arena, "GET", path).code == 404
