"""The real API server takes the generated CustomResourceDefinitions, strictly, and does what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.errors import SeamarkError
from tests.cluster.requests import Answer, eventually, install, request
from tests.unit.runtime.api.kinds import HARBOUR, LAMP

NEW_YEAR = "2026-01-01T00:00:00Z"

Make = Callable[..., Answer]


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> ControlPlane:
    install(control_plane, LAMP)
    install(control_plane, HARBOUR)
    return control_plane


@pytest.fixture
def make(plane: ControlPlane, namespace: str) -> Make:
    def make(name: str = "lamp", **spec: Any) -> Answer:
        body = {
            "apiVersion": LAMP.resource.api_version,
            "kind": "Lamp",
            "metadata": {"name": name},
            "spec": {"color": "red", "parent": None, **spec},
        }
        return request(plane, "POST", f"{LAMP.resource.path(namespace)}?fieldValidation=Strict", body)

    return make


def test_a_new_object_has_its_defaults_and_is_unknown_in_every_respect(make: Make) -> None:
    lamp = make(config={"deep": {"er": [1, "two"]}}, anything=[1], ports=[{"name": "a", "number": 1, "target": "x"}])
    assert lamp.code == 201, lamp.body
    assert lamp.body["spec"] == {
        "color": "red",
        "parent": None,
        "enabled": True,
        "owner": "me",
        "limits": {"low": 1, "high": 10},
        "config": {"deep": {"er": [1, "two"]}},
        "anything": [1],
        "ports": [{"name": "a", "number": 1, "target": "x"}],
    }
    conditions = {condition["type"]: condition for condition in lamp.body["status"]["conditions"]}
    assert {name: condition["status"] for name, condition in conditions.items()} == {
        "Lit": "Unknown",
        "Ready": "Unknown",
    }
    assert conditions["Lit"]["reason"] == "NotLit"
    assert conditions["Ready"]["lastTransitionTime"] == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"color": "blue"}, 'supported values: "green", "red", "white"'),
        ({"colour": "red"}, 'unknown field "spec.colour"'),
        ({"limits": {"low": 5, "high": 2}}, "spec.limits.low: Invalid value: low must not be above high"),
        ({"limits": {"share": 0}}, "should be greater than 0"),
        ({"ports": [{"name": "a", "number": 0}]}, "should be greater than or equal to 1"),
        ({"ports": [{"name": "a", "number": 1}, {"name": "a", "number": 2}]}, "Duplicate value"),
        ({"tags": ["x", "x"]}, "Duplicate value"),
        ({"note": 1}, "must be of type string"),
    ],
)
def test_the_api_server_refuses_what_the_types_refuse(make: Make, spec: dict[str, Any], words: str) -> None:
    answer = make(**spec)
    assert answer.code in (400, 422)
    assert words in answer.body["message"]


def test_a_null_where_none_is_allowed_counts_as_not_said(make: Make) -> None:
    spec = make(note=None, owner=None).body["spec"]
    assert (spec.get("note", "not said"), spec["owner"]) == ("not said", "me")


def test_a_rule_of_the_whole_object_sees_its_name(make: Make) -> None:
    assert "the name must not be longer than 20" in make("a" * 21).body["message"]


def test_a_rule_about_change_is_asked_on_change(make: Make, plane: ControlPlane, namespace: str) -> None:
    assert make().code == 201
    path, kind = LAMP.resource.path(namespace, "lamp"), "application/merge-patch+json"
    refused = request(plane, "PATCH", path, {"spec": {"owner": "you"}}, content_type=kind)
    assert "owner is for life" in refused.body["message"]


def test_kubectl_shows_the_columns_and_knows_the_short_name(make: Make, plane: ControlPlane, namespace: str) -> None:
    make()
    narrow = plane.kubectl("get", "lp", f"-n{namespace}").splitlines()
    assert narrow[0].split() == ["NAME", "COLOR", "READY", "AGE"]
    assert narrow[1].split()[:3] == ["lamp", "red", "Unknown"]
    wide = plane.kubectl("get", "seamark", "-owide", f"-n{namespace}").splitlines()
    assert wide[0].split() == ["NAME", "COLOR", "READY", "REASON", "AGE"]
    assert wide[1].split()[3] == "Pending"


def test_kubectl_wait_waits_for_a_new_object(make: Make, plane: ControlPlane, namespace: str) -> None:
    make()
    with pytest.raises(SeamarkError, match="timed out waiting for the condition"):
        plane.kubectl("wait", "lp/lamp", "--for=condition=Ready", "--timeout=1s", f"-n{namespace}")


def test_objects_are_selected_by_a_declared_field(make: Make, plane: ControlPlane, namespace: str) -> None:
    make("one", color="red")
    make("two", color="green")
    listed = request(plane, "GET", f"{LAMP.resource.path(namespace)}?fieldSelector=spec.color%3Dgreen").body["items"]
    assert [item["metadata"]["name"] for item in listed] == ["two"]


def test_a_status_is_written_by_two_without_disturbing_each_other(
    make: Make, plane: ControlPlane, namespace: str
) -> None:
    made = make().body

    def apply(manager: str, status: dict[str, Any]) -> Answer:
        body = {"apiVersion": made["apiVersion"], "kind": "Lamp", "metadata": {"name": "lamp"}, "status": status}
        path = f"{LAMP.resource.path(namespace, 'lamp', 'status')}?fieldManager={manager}&force=true"
        return request(plane, "PATCH", path, body, content_type="application/apply-patch+yaml")

    lit = {
        "type": "Lit",
        "status": "True",
        "reason": "Lit",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    assert apply("one", {"address": "here"}).code == 200
    status = apply("two", {"conditions": [lit]}).body["status"]
    assert status["address"] == "here"
    assert {condition["type"]: condition["status"] for condition in status["conditions"]} == {
        "Lit": "True",
        "Ready": "Unknown",
    }


def test_what_an_object_owns_goes_with_it_at_once(make: Make, plane: ControlPlane, namespace: str) -> None:
    lamp = make().body
    owner = {"apiVersion": lamp["apiVersion"], "kind": "Lamp", "name": "lamp", "uid": lamp["metadata"]["uid"]}
    child = f"/api/v1/namespaces/{namespace}/configmaps"
    assert request(plane, "POST", child, {"metadata": {"name": "child", "ownerReferences": [owner]}}).code == 201
    request(plane, "DELETE", LAMP.resource.path(namespace, "lamp"))
    eventually(lambda: request(plane, "GET", f"{child}/child").code == 404, "the child is gone", seconds=10)


def test_a_kind_of_the_whole_cluster_is_made_without_a_namespace(plane: ControlPlane) -> None:
    body = {
        "apiVersion": HARBOUR.resource.api_version,
        "kind": "Harbour",
        "metadata": {"name": "h"},
        "data": {"a": "b"},
    }
    assert request(plane, "POST", f"{HARBOUR.resource.path()}?fieldValidation=Strict", body).code in (201, 409)
