"""A role follows from what is declared."""

from __future__ import annotations

from typing import Any

from seamark_runtime.api.core import ConfigMap, Namespace
from seamark_runtime.controller import CollectionController, Controller, Output, Reads, Wanted, Writes
from seamark_runtime.rbac import Grant, by_namespace, grants, leader_grants, rules
from seamark_runtime.scope import Scope
from seamark_runtime.source import Collection
from seamark_runtime.status import ByManager
from tests.greetings import greeting_controller
from tests.unit.runtime.scripted import Lamp


def declared(**more: Any) -> Controller[Any]:
    return Controller(
        name="lamps",
        kind=Lamp,
        observe=lambda _view, obj, _results: obj,
        desire=lambda _seen: Wanted(),
        judge=lambda _seen, _answers: None,
        status=ByManager(manager="lamps", conditions=()),
        **more,
    )


def verbs(found: set[Grant], resource: str) -> set[str]:
    return {grant.verb for grant in found if grant.resource == resource}


def test_a_kind_is_followed_and_its_status_patched_and_nothing_else() -> None:
    found = grants(declared())
    assert verbs(found, "lamps") == {"get", "list", "watch"}
    assert verbs(found, "lamps/status") == {"patch"}
    assert verbs(found, "events") == {"create", "patch"}
    assert {grant.resource for grant in found} == {"lamps", "lamps/status", "events"}


def test_a_finalizer_or_an_annotation_needs_a_patch_of_the_object() -> None:
    assert "patch" in verbs(grants(declared(writes=Writes(finalizers=("x/y",)))), "lamps")
    assert "patch" in verbs(grants(declared(writes=Writes(annotations=("x/y",)))), "lamps")


def test_children_are_made_and_what_is_only_read_is_not() -> None:
    found = grants(declared(writes=Writes(children=(ConfigMap,)), reads=Reads(kinds=(Namespace,))))
    assert verbs(found, "configmaps") == {"get", "list", "watch", "create", "patch", "delete"}
    assert verbs(found, "namespaces") == {"list", "watch"}


def test_what_is_followed_in_one_namespace_is_granted_there_only() -> None:
    found = by_namespace(
        grants(declared(writes=Writes(children=(ConfigMap,)), reads=Reads(scopes={ConfigMap: Scope("home")})))
    )
    assert verbs(found["home"], "configmaps") == {"get", "list", "watch", "create", "patch", "delete"}
    assert verbs(found[""], "configmaps") == set()


def test_a_group_writes_no_status() -> None:
    group: CollectionController[Any] = CollectionController(
        name="zones",
        desire=lambda _seen: Wanted(),
        keyed={Lamp: lambda _obj: ()},
        observe=lambda _view, _key, _results: None,
        outputs=(Output(Collection("zones"), lambda _seen, _answers: {}),),
    )
    assert {grant.resource for grant in grants(group)} == {"lamps"}


def test_a_leader_needs_its_lease_only() -> None:
    assert leader_grants() == {Grant("coordination.k8s.io", "leases", verb) for verb in ("create", "get", "patch")}


def test_no_rule_has_a_wildcard_and_resources_with_the_same_verbs_share_one() -> None:
    made = rules(grants(greeting_controller()) | leader_grants())
    assert made == rules(grants(greeting_controller()) | leader_grants())
    assert "*" not in str(made)
    assert {"apiGroups": ["sample.seamark.dev"], "resources": ["greetings/status"], "verbs": ["patch"]} in made
    together = rules({Grant("g", "a", "get"), Grant("g", "b", "get"), Grant("h", "a", "get")})
    assert together == [
        {"apiGroups": ["g"], "resources": ["a", "b"], "verbs": ["get"]},
        {"apiGroups": ["h"], "resources": ["a"], "verbs": ["get"]},
    ]


def test_rights_on_single_objects_are_rules_with_names() -> None:
    found = {
        Grant("", "secrets", "get", name="a"),
        Grant("", "secrets", "get", name="b"),
        Grant("", "secrets", "create"),
    }
    assert rules(found) == [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["get"]},
    ]
