"""Access control: the same users, roles and reviews on both sides."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from tests.fidelity.arena import Arena
from tests.fidelity.differences import compare
from tests.fidelity.samples import Json
from tests.fidelity.sides import Reply

RBAC = "/apis/rbac.authorization.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"


def ask(arena: Arena, user: str, method: str, path: str, body: Json | None = None, **query: str) -> tuple[Reply, Reply]:
    data = b"" if body is None else json.dumps(body).encode()
    arena.operations += 1
    real = arena.real.ask(method, path, query, data, "application/json", user)
    return real, arena.store.ask(method, path, query, data, "application/json", user)


def eventually(condition: Callable[[], bool]) -> None:
    """The real API server reads roles and policies through watches of its own."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the API server did not take it up"
        time.sleep(0.05)


def same(arena: Arena, user: str, method: str, path: str, body: Json | None = None) -> Reply:
    real, store = ask(arena, user, method, path, body)
    found = compare(real, store)
    assert not found, "\n".join([f"{user}: {method} {path}", *found])
    return real


def grant(arena: Arena, namespace: str) -> None:
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["get"]},
        {"apiGroups": ["example.com"], "resources": ["widgets/status"], "verbs": ["*"]},
    ]
    role = {"metadata": {"name": "reader"}, "rules": rules}
    binding = {
        "metadata": {"name": "alice"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"}],
    }
    same(arena, "admin", "POST", f"{RBAC}/namespaces/{namespace}/roles", role)
    same(arena, "admin", "POST", f"{RBAC}/namespaces/{namespace}/rolebindings", binding)


def questions(namespace: str) -> list[tuple[str, str, Json | None]]:
    core = f"/api/v1/namespaces/{namespace}"
    widgets = f"/apis/example.com/v1/namespaces/{namespace}/widgets"
    return [
        ("GET", f"{core}/configmaps", None),
        ("GET", f"{core}/configmaps/x", None),
        ("POST", f"{core}/configmaps", {"metadata": {"name": "by-alice"}}),
        ("DELETE", f"{core}/configmaps/x", None),
        ("PUT", f"{core}/configmaps/x", {"metadata": {"name": "x"}}),
        ("GET", f"{core}/secrets", None),
        ("GET", f"{core}/secrets/mine", None),
        ("GET", f"{core}/secrets/yours", None),
        ("GET", f"{widgets}/x", None),
        ("GET", f"{widgets}/x/status", None),
        ("GET", "/api/v1/nodes", None),
        ("GET", "/api/v1/configmaps", None),
        ("POST", "/api/v1/namespaces", {"metadata": {"name": "alices"}}),
    ]


def test_a_user_may_do_what_a_role_grants_and_nothing_else(arena: Arena) -> None:
    namespace = arena.session().namespace
    for question in questions(namespace):
        assert same(arena, "alice", *question).code == 403
    grant(arena, namespace)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    eventually(lambda: ask(arena, "alice", "GET", path)[0].code == 200)
    codes = [same(arena, "alice", *question).code for question in questions(namespace)]
    assert codes == [200, 404, 201, 403, 403, 403, 404, 403, 403, 404, 403, 403, 403]
    same(arena, "admin", "DELETE", f"{RBAC}/namespaces/{namespace}/rolebindings/alice")
    eventually(lambda: ask(arena, "alice", "GET", path)[0].code == 403)
    same(arena, "alice", "GET", path)


def test_access_reviews_answer_alike(arena: Arena) -> None:
    namespace = arena.session().namespace
    grant(arena, namespace)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    eventually(lambda: ask(arena, "alice", "GET", path)[0].code == 200)
    for attributes in (
        {"verb": "get", "resource": "configmaps", "namespace": namespace},
        {"verb": "delete", "resource": "configmaps", "namespace": namespace},
        {"verb": "get", "resource": "secrets", "name": "mine", "namespace": namespace},
        {
            "verb": "update",
            "group": "example.com",
            "resource": "widgets",
            "subresource": "status",
            "namespace": namespace,
        },
        {"verb": "list", "resource": "nodes"},
    ):
        mine = {"spec": {"resourceAttributes": attributes}}
        yours = {"spec": {"user": "alice", "resourceAttributes": attributes}}
        for user in ("admin", "alice"):
            same(arena, user, "POST", f"{AUTHORIZATION}/selfsubjectaccessreviews", mine)
        same(arena, "admin", "POST", f"{AUTHORIZATION}/subjectaccessreviews", yours)
    for spec in (
        {},
        {"nonResourceAttributes": {"verb": "get", "path": "/healthz"}},
        {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}},
        {
            "resourceAttributes": {"verb": "get", "resource": "pods"},
            "nonResourceAttributes": {"verb": "get", "path": "/metrics"},
        },
    ):
        same(arena, "alice", "POST", f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": spec})
    rules = {"spec": {"namespace": namespace}}
    same(arena, "alice", "POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", rules)
    same(arena, "alice", "POST", f"{AUTHORIZATION}/subjectaccessreviews", {"spec": {"user": "bob"}})
    same(arena, "alice", "POST", f"{AUTHENTICATION}/selfsubjectreviews", {})
    same(arena, "admin", "POST", f"{AUTHENTICATION}/tokenreviews", {"spec": {"token": "nonsense"}})
