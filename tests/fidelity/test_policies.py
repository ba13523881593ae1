"""Admission policies and quotas: the same errors on both sides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fidelity.arena import Arena
from tests.fidelity.differences import compare
from tests.fidelity.samples import Json
from tests.fidelity.test_access import ask, eventually, same

ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def policy(name: str, namespace: str, **spec: Any) -> tuple[Json, Json]:
    """A policy about the ConfigMaps of one namespace, and its binding."""
    rules = [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    ]
    body = {"metadata": {"name": name}, "spec": {"matchConstraints": {"resourceRules": rules}, **spec}}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    binding = {
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": selector},
        },
    }
    return body, binding


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("message", {"validations": [{"expression": "has(object.data) && 'ok' in object.data", "message": "no ok"}]}),
        ("no-message", {"validations": [{"expression": "has(object.data) && 'ok' in object.data"}]}),
        (
            "reason",
            {"validations": [{"expression": "has(object.data) && 'ok' in object.data", "reason": "Forbidden"}]},
        ),
        (
            "expression",
            {
                "variables": [{"name": "keys", "expression": "has(object.data) ? size(object.data) : 0"}],
                "validations": [
                    {
                        "expression": "has(object.data) && 'ok' in object.data",
                        "messageExpression": "request.userInfo.username + ' sent ' + string(variables.keys) + ' keys'",
                    }
                ],
            },
        ),
        ("trouble", {"validations": [{"expression": "object.data.ok == 'yes'"}]}),
        (
            "condition",
            {
                "matchConditions": [{"name": "named", "expression": "object.metadata.name != 'free'"}],
                "validations": [{"expression": "has(object.data) && 'ok' in object.data", "message": "no ok"}],
            },
        ),
    ],
)
def test_a_policy_refuses_alike(arena: Arena, name: str, spec: Json) -> None:
    namespace = arena.session().namespace
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    body, binding = policy(f"{namespace}-{name}", namespace, **spec)
    same(arena, "admin", "POST", f"{ADMISSION}/validatingadmissionpolicies", body)
    same(arena, "admin", "POST", f"{ADMISSION}/validatingadmissionpolicybindings", binding)
    probe = {"metadata": {"name": "probe"}}
    eventually(lambda: ask(arena, "admin", "POST", maps, probe, dryRun="All")[0].code != 201)
    for data in ({}, {"ok": "yes"}, {"other": "x"}):
        for object_name in ("a", "free"):
            same(arena, "admin", "POST", maps, {"metadata": {"name": object_name}, "data": data})
            same(arena, "admin", "DELETE", f"{maps}/{object_name}")
    same(arena, "admin", "DELETE", f"{ADMISSION}/validatingadmissionpolicybindings/{namespace}-{name}")
    same(arena, "admin", "DELETE", f"{ADMISSION}/validatingadmissionpolicies/{namespace}-{name}")


def test_a_quota_refuses_alike(arena: Arena) -> None:
    namespace = arena.session().namespace
    quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
    hard = {"configmaps": "1", "count/widgets.example.com": "1"}
    same(arena, "admin", "POST", quotas, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    used = dict.fromkeys(hard, "0")
    status = {"metadata": {"name": "q"}, "spec": {"hard": hard}, "status": {"hard": hard, "used": used}}
    same(arena, "admin", "PUT", f"{quotas}/q/status", status)
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    first = {"metadata": {"name": "a"}}

    def counted() -> bool:
        real, _ = ask(arena, "admin", "POST", maps, first)
        if real.code == 201:
            answer = arena.real.ask("GET", f"{quotas}/q", {}, b"", "")
            if answer.body["status"]["used"]["configmaps"] == "1":
                return True
            arena.real.ask("DELETE", f"{maps}/a", {}, b"", "")
        return False

    eventually(counted)
    refusal = same(arena, "admin", "POST", maps, {"metadata": {"name": "b"}})
    assert refusal.code == 403
    assert "exceeded quota" in refusal.body["message"]
    real, store = ask(arena, "admin", "GET", f"{quotas}/q")
    assert real.body["status"] == store.body["status"]


@pytest.mark.parametrize("found", ["limits", "absent"])
def test_a_policy_reads_its_parameters_alike(arena: Arena, found: str) -> None:
    namespace = arena.session().namespace
    maps, name = f"/api/v1/namespaces/{namespace}/configmaps", f"{namespace}-{found}"
    expression = "!has(object.data) || size(object.data) <= int(params.data.most)"
    body, binding = policy(
        name,
        namespace,
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        validations=[{"expression": expression, "messageExpression": "'at most ' + params.data.most"}],
    )
    binding["spec"]["paramRef"] = {"name": found, "namespace": namespace, "parameterNotFoundAction": "Deny"}
    bindings = f"{ADMISSION}/validatingadmissionpolicybindings"
    same(arena, "admin", "POST", maps, {"metadata": {"name": "limits"}, "data": {"most": "1"}})
    same(arena, "admin", "POST", f"{ADMISSION}/validatingadmissionpolicies", body)
    same(arena, "admin", "POST", bindings, binding)

    def accepts(**data: str) -> bool:
        probe = {"metadata": {"name": "probe"}, "data": data}
        return ask(arena, "admin", "POST", maps, probe, dryRun="All")[0].code == 201

    eventually(lambda: not accepts(a="b", c="d") and accepts() == (found == "limits"))
    for count in (0, 1, 2):
        data = {str(number): "x" for number in range(count)}
        same(arena, "admin", "POST", maps, {"metadata": {"name": f"of-{count}"}, "data": data})
    same(arena, "admin", "DELETE", f"{bindings}/{name}")
    same(arena, "admin", "DELETE", f"{ADMISSION}/validatingadmissionpolicies/{name}")


@pytest.mark.parametrize("actions", [["Warn"], ["Audit"], ["Warn", "Audit"], ["Deny", "Audit"]])
def test_a_policy_warns_alike(arena: Arena, actions: list[str]) -> None:
    namespace = arena.session().namespace
    maps, name = f"/api/v1/namespaces/{namespace}/configmaps", f"{namespace}-{'-'.join(actions).lower()}"
    body, binding = policy(name, namespace, validations=[{"expression": "has(object.data)", "message": "no data"}])
    binding["spec"]["validationActions"] = ["Deny"]
    same(arena, "admin", "POST", f"{ADMISSION}/validatingadmissionpolicies", body)
    same(arena, "admin", "POST", f"{ADMISSION}/validatingadmissionpolicybindings", binding)
    empty = {"metadata": {"name": "empty"}}
    eventually(lambda: ask(arena, "admin", "POST", maps, empty, dryRun="All")[0].code != 201)
    path = f"{ADMISSION}/validatingadmissionpolicybindings/{name}"
    for side in arena.sides:
        current = side.ask("GET", path, {}, b"", "").body
        current["spec"]["validationActions"] = actions
        assert side.ask("PUT", path, {}, json.dumps(current).encode(), "application/json").code == 200
    if "Deny" not in actions:
        eventually(lambda: ask(arena, "admin", "POST", maps, empty, dryRun="All")[0].code == 201)
    for data in ({}, {"data": {"a": "b"}}):
        real, store = ask(arena, "admin", "POST", maps, {"metadata": {"name": f"m{len(data)}"}, **data})
        assert not compare(real, store)
        assert real.warnings == store.warnings
    same(arena, "admin", "DELETE", path)
    same(arena, "admin", "DELETE", f"{ADMISSION}/validatingadmissionpolicies/{name}")
