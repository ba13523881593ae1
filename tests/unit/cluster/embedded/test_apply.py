"""Server-side apply: ownership of fields, conflicts, and removal of fields that are no longer applied."""

from __future__ import annotations

from tests.unit.cluster.embedded.conftest import APPLY, MERGE, WIDGETS, Cluster, Json, widget

MAPS = "/api/v1/namespaces/default/configmaps"


def applied(**data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def owners(obj: Json) -> dict[str, Json]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"]["managedFields"]}


def test_applying_makes_the_object_and_claims_what_was_sent(cluster: Cluster) -> None:
    made = cluster.apply(f"{MAPS}/c", applied(a="1"), "one")
    assert owners(made) == {"one": {"f:data": {"f:a": {}}}}


def test_a_field_of_another_manager_is_not_taken_without_force(cluster: Cluster) -> None:
    cluster.apply(f"{MAPS}/c", applied(a="1"), "one")
    refusal = cluster.refused(409, "PATCH", f"{MAPS}/c", applied(a="2"), APPLY, fieldManager="two")
    assert refusal["message"] == 'Apply failed with 1 conflict: conflict with "one": .data.a'
    forced = cluster.apply(f"{MAPS}/c", applied(a="2"), "two", force="true")
    assert forced["data"] == {"a": "2"}
    assert owners(forced) == {"two": {"f:data": {"f:a": {}}}}


def test_a_field_no_longer_applied_is_removed_unless_another_manager_owns_it(cluster: Cluster) -> None:
    cluster.apply(f"{MAPS}/c", applied(a="1", b="1", c="1"), "one")
    cluster.apply(f"{MAPS}/c", applied(b="1"), "two")
    left = cluster.apply(f"{MAPS}/c", applied(c="1"), "one")
    assert left["data"] == {"b": "1", "c": "1"}


def test_an_update_takes_the_fields_it_changes(cluster: Cluster) -> None:
    cluster.apply(f"{MAPS}/c", applied(a="1", b="1"), "one")
    changed = cluster.ok("PATCH", f"{MAPS}/c", {"data": {"a": "2"}}, MERGE, fieldManager="two")
    assert owners(changed) == {"one": {"f:data": {"f:b": {}}}, "two": {"f:data": {"f:a": {}}}}


def test_applying_the_same_again_writes_nothing(cluster: Cluster) -> None:
    made = cluster.apply(f"{MAPS}/c", applied(a="1"), "one")
    cluster.clock.advance(60)
    assert cluster.apply(f"{MAPS}/c", applied(a="1"), "one") == made


def test_two_writers_of_one_status_do_not_disturb_each_other(cluster: Cluster) -> None:
    cluster.ok("POST", WIDGETS, widget())
    status = {"apiVersion": "example.com/v1", "kind": "Widget"}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    bound = {"conditions": [{"type": "Bound", "status": "False"}]}
    cluster.apply(f"{WIDGETS}/w/status", {**status, "status": ready}, "one")
    both = cluster.apply(f"{WIDGETS}/w/status", {**status, "status": bound}, "two")
    assert [(condition["type"], condition["status"]) for condition in both["status"]["conditions"]] == [
        ("Ready", "True"),
        ("Bound", "False"),
    ]


def test_a_status_judged_from_an_older_object_is_refused(cluster: Cluster) -> None:
    made = cluster.ok("POST", WIDGETS, widget())
    cluster.ok("PATCH", f"{WIDGETS}/w", {"spec": {"size": 5}}, MERGE)
    stale = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"resourceVersion": made["metadata"]["resourceVersion"]},
        "status": {"count": 1},
    }
    cluster.refused(409, "PATCH", f"{WIDGETS}/w/status", stale, APPLY, fieldManager="one")


def test_a_wrong_uid_is_refused_on_the_object_and_overlooked_on_its_status(cluster: Cluster) -> None:
    cluster.ok("POST", WIDGETS, widget())
    wrong = {**widget(), "metadata": {"name": "w", "uid": "other"}}
    cluster.refused(422, "PATCH", f"{WIDGETS}/w", wrong, APPLY, fieldManager="one", force="true")
    status = {**wrong, "status": {"count": 1}}
    assert cluster.apply(f"{WIDGETS}/w/status", status, "one")["status"]["count"] == 1


def test_apply_on_the_status_of_nothing_makes_nothing(cluster: Cluster) -> None:
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "status": {"count": 1}}
    cluster.refused(404, "PATCH", f"{WIDGETS}/w/status", body, APPLY, fieldManager="one")
