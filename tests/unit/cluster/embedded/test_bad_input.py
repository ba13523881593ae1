"""Every request gets a response: no input stops the store."""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from seamark_cluster.embedded import Watch
from seamark_runtime.transport import HttpRequest
from seamark_runtime.untrusted.names import received_path
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
    for key, item in items:
        found += places(item, (*path, key))
    return found


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    if isinstance(value, dict):
        return {key: replaced(item, path[1:], new) if key == path[0] else item for key, item in value.items()}
    return [replaced(entry, path[1:], new) if index == path[0] else entry for index, entry in enumerate(value)]


@st.composite
def mangled(draw: st.DrawFn) -> tuple[str, Any]:
    collection = draw(st.sampled_from(sorted(KINDS)))
    body = KINDS[collection]
    for _ in range(draw(st.integers(1, 2))):
        body = replaced(body, draw(st.sampled_from(places(body))), draw(values))
    return collection, body


def answered(method: str, path: str, body: bytes, media: str = "application/json", **query: str) -> int:
    found = CLUSTER.store.handle(HttpRequest(method, received_path(path), query, body, media))
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
    found = cluster.store.handle(HttpRequest(method, received_path(path), {}, body))
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


DEEP = {
    "maps": '{"a":' * 900 + "1" + "}" * 900,
    "lists": "[" * 900 + "]" * 900,
    "beyond the decoder's stack": "[" * 100_000 + "]" * 100_000,
}


@pytest.mark.parametrize("media", ["application/json", "application/yaml", MERGE, JSON_PATCH, APPLY])
@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
def test_a_body_with_too_many_levels_is_refused_with_the_limit(deep: str, media: str) -> None:
    cluster = new_cluster()
    cluster.ok("POST", WIDGETS, widget())
    whole = json.dumps({**widget(), "spec": "DEEP"}).replace('"DEEP"', deep)
    if media == JSON_PATCH:
        whole = f'[{{"op": "add", "path": "/spec", "value": {deep}}}]'
    if media in ("application/yaml", APPLY):
        whole = f"# a comment, so that it is no JSON\n{whole}"
    verb = "PUT" if media in ("application/json", "application/yaml") else "PATCH"
    query = {"fieldManager": "me", "force": "true"} if media == APPLY else {}
    found = cluster.store.handle(HttpRequest(verb, received_path(f"{WIDGETS}/w"), query, whole.encode(), media))
    assert not isinstance(found, Watch)
    assert found.status == 400
    assert "more than 100 levels of nested maps and lists" in json.loads(found.body)["message"]


@pytest.mark.parametrize("media", ["application/json", "application/yaml", MERGE])
def test_a_number_with_too_many_digits_is_refused(media: str) -> None:
    cluster = new_cluster()
    cluster.ok("POST", WIDGETS, widget())
    for digits, refused in ((18, False), (25, False), (400, True)):
        body = json.dumps({**widget(), "spec": {"extra": {"number": "N"}}}).replace('"N"', "7" * digits)
        body = f"# no JSON\n{body}" if media == "application/yaml" else body
        verb = "PATCH" if media == MERGE else "PUT"
        found = cluster.store.handle(HttpRequest(verb, received_path(f"{WIDGETS}/w"), {}, body.encode(), media))
        assert not isinstance(found, Watch)
        assert (found.status == 400) is refused, found.body


def test_patches_one_after_another_can_not_nest_an_object_deeper_than_a_body_may() -> None:
    cluster = new_cluster()
    cluster.ok("POST", WIDGETS, widget())
    deep: Any = {}
    for _ in range(60):
        deep = {"a": deep}
    first = [{"op": "add", "path": "/spec/extra", "value": deep}]
    cluster.ok("PATCH", f"{WIDGETS}/w", first, JSON_PATCH)
    second = [{"op": "add", "path": "/spec/extra" + "/a" * 60, "value": deep}]
    refusal = cluster.refused(400, "PATCH", f"{WIDGETS}/w", second, JSON_PATCH)
    assert "the patched object has more than 100 levels" in refusal["message"]


@pytest.mark.parametrize("subresource", ["pods/p/binding", "pods/p/eviction"])
def test_a_list_is_no_binding_and_no_eviction(subresource: str) -> None:
    cluster = new_cluster()
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    cluster.ok("POST", "/api/v1/namespaces/default/pods", pod)
    assert cluster.answer("POST", f"/api/v1/namespaces/default/{subresource}", []).status == 400
