"""Whatever comes in, an answer goes out: no request stops the store."""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from seamark.cluster.embedded import Watch
from seamark.core.transport import Request
from tests.unit.cluster.embedded.conftest import (
    APPLY,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    WIDGETS,
    Cluster,
    Json,
    definition,
    new_cluster,
    widget,
)

CLUSTER = new_cluster()
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KINDS = {
    WIDGETS: widget(tags=["a"]),
    "/api/v1/namespaces/default/services": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "w"},
        "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}},
    },
    "/apis/apps/v1/namespaces/default/deployments": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "w"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    },
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings": {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "w"},
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "x"}],
    },
    "/api/v1/namespaces/default/resourcequotas": {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "w"},
        "spec": {"hard": {"count/gadgets": "5"}},
    },
}

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=5), inner, max_size=2)),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        found += places(one, (*path, key))
    return found


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    if isinstance(value, dict):
        return {key: replaced(one, path[1:], new) if key == path[0] else one for key, one in value.items()}
    return [replaced(one, path[1:], new) if index == path[0] else one for index, one in enumerate(value)]


@st.composite
def mangled(draw: st.DrawFn) -> tuple[str, Any]:
    collection = draw(st.sampled_from(sorted(KINDS)))
    body = KINDS[collection]
    for _ in range(draw(st.integers(1, 2))):
        body = replaced(body, draw(st.sampled_from(places(body))), draw(values))
    return collection, body


def answered(method: str, path: str, body: bytes, media: str = "application/json", **query: str) -> int:
    found = CLUSTER.store.handle(Request(method, path, query, body, media))
    assert not isinstance(found, Watch)
    if found.headers.get("Content-Type") == "application/json":
        json.loads(found.body)
    return found.status


@hypothesis.settings(max_examples=300, deadline=None, derandomize=True, database=None)
@hypothesis.given(mangled())
def test_no_body_stops_the_store(made: tuple[str, Any]) -> None:
    collection, body = made
    data = json.dumps(body).encode()
    answered("POST", collection, data)
    answered("PUT", f"{collection}/w", data)
    for media in (MERGE, JSON_PATCH, STRATEGIC):
        answered("PATCH", f"{collection}/w", data, media)
    answered("PATCH", f"{collection}/w", data, APPLY, fieldManager="me", force="true")
    answered("PATCH", f"{collection}/w/status", data, APPLY, fieldManager="me", force="true")
    answered("DELETE", f"{collection}/w", data)


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("POST", WIDGETS, b"", 400),
        ("POST", WIDGETS, b"{", 400),
        ("POST", WIDGETS, b"[]", 400),
        ("POST", WIDGETS, b"\xff\xfe", 400),
        ("GET", "/", b"", 404),
        ("GET", "/api/v1/nonsense", b"", 404),
        ("GET", "/apis/nonsense/v1/things", b"", 404),
        ("POST", "/api/v1/namespaces/default/pods/x/nonsense", b"{}", 404),
        ("BREW", WIDGETS, b"", 405),
        ("POST", f"{WIDGETS}/w", b"{}", 405),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    cluster: Cluster, method: str, path: str, body: bytes, code: int
) -> None:
    found = cluster.store.handle(Request(method, path, {}, body))
    assert not isinstance(found, Watch)
    assert found.status == code, found.body


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"metadata": {"name": "other.example.com"}}, "metadata.name"),
        ({"spec": {"versions": []}}, "spec.versions"),
        ({"spec": {"scope": "Nowhere"}}, "spec.scope"),
        ({"spec": {"names": {"plural": "widgets", "kind": ""}}}, "spec.names.kind"),
    ],
)
def test_a_definition_that_can_not_be_served_is_refused(cluster: Cluster, change: Json, field: str) -> None:
    body = definition({"type": "object"}, "things", "Thing")
    for part, value in change.items():
        body[part] = {**body[part], **value}
    refusal = cluster.refused(422, "POST", DEFINITIONS, body)
    assert field in [cause["field"] for cause in refusal["details"]["causes"]]


def test_a_rule_that_is_no_expression_is_refused(cluster: Cluster) -> None:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "self +"}]}
    refusal = cluster.refused(422, "POST", DEFINITIONS, definition(schema, "things", "Thing"))
    assert "compilation failed" in refusal["message"]
