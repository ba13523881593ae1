"""Custom kinds: pruning, defaults, and validation with clear messages."""

from __future__ import annotations

from typing import Any

import pytest

from seamark_cluster.embedded.machinery.formats import regex
from tests.unit.cluster.embedded.conftest import MERGE, WIDGETS, Cluster, widget


def test_unknown_fields_are_dropped_with_a_warning(cluster: Cluster) -> None:
    answer = cluster.answer("POST", WIDGETS, widget(shape="round"))
    assert answer.status == 201
    assert answer.headers["Warning"] == '299 - "unknown field \\"spec.shape\\""'
    assert "shape" not in cluster.ok("GET", f"{WIDGETS}/w")["spec"]


def test_unknown_fields_are_an_error_when_requested(cluster: Cluster) -> None:
    refusal = cluster.refused(400, "POST", WIDGETS, widget(shape="round"), fieldValidation="Strict")
    assert 'unknown field "spec.shape"' in refusal["message"]


def test_a_default_fills_in_a_missing_field(cluster: Cluster) -> None:
    assert cluster.ok("POST", WIDGETS, widget())["spec"]["size"] == 3


def test_what_the_schema_leaves_open_is_kept(cluster: Cluster) -> None:
    kept = cluster.ok("POST", WIDGETS, widget(extra={"any": [1, {"thing": True}]}))
    assert kept["spec"]["extra"] == {"any": [1, {"thing": True}]}


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"size": 11}, "spec.size", "Invalid value: 11: spec.size in body should be less than or equal to 10"),
        ({"size": "x"}, "spec.size", 'Invalid value: "string": spec.size in body must be of type integer: "string"'),
        ({"color": "blue"}, "spec.color", 'Unsupported value: "blue": supported values: "red", "green"'),
        ({"title": "abcdef"}, "spec.title", "Too long: may not be more than 5 bytes"),
        ({"title": "A"}, "spec.title", "Invalid value: \"A\": spec.title in body should match '^[a-z]*$'"),
        ({"tags": ["a", "a"]}, "spec.tags[1]", 'Duplicate value: "a"'),
        (
            {"options": {"a": 1}},
            "spec.options.a",
            'Invalid value: "integer": spec.options.a in body must be of type string: "integer"',
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_field(
    cluster: Cluster, spec: dict[str, Any], field: str, message: str
) -> None:
    refusal = cluster.refused(422, "POST", WIDGETS, widget(**spec))
    assert [(cause["field"], cause["message"]) for cause in refusal["details"]["causes"]] == [(field, message)]


def test_a_missing_field_is_named(cluster: Cluster) -> None:
    body = widget()
    del body["spec"]["color"]
    refusal = cluster.refused(422, "POST", WIDGETS, body)
    assert refusal["details"]["causes"] == [
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.color"}
    ]


def test_a_status_error_is_found_under_status(cluster: Cluster) -> None:
    cluster.ok("POST", WIDGETS, widget())
    refusal = cluster.refused(422, "PATCH", f"{WIDGETS}/w/status", {"status": {"count": "x"}}, MERGE)
    assert refusal["details"]["causes"][0]["field"] == "status.count"


def test_a_deleted_definition_takes_its_objects_and_its_paths(cluster: Cluster) -> None:
    cluster.ok("POST", WIDGETS, widget())
    cluster.ok("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com")
    assert cluster.answer("GET", WIDGETS).status == 404
    assert cluster.store.objects("widgets.example.com") == []


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("^a$", "a", "a\n"),
        ("^[a$]+$", "$a$", "$b"),
        ("^[]$]$", "]", "a"),
        ("^[^]$]$", "a", "$"),
        ("^[[:alpha:]_]+\\z", "a_b", "a1"),
        ("^\\$[0-9]$", "$1", "1"),
    ],
)
def test_a_pattern_means_what_the_api_server_takes_it_for(pattern: str, fits: str, does_not: str) -> None:
    assert regex(pattern).search(fits)
    assert not regex(pattern).search(does_not)
