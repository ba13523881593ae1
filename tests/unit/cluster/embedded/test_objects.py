"""Create, read, update, delete: what the API server guarantees for any object."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.unit.cluster.embedded.conftest import (
    JSON_PATCH,
    MERGE,
    WIDGETS,
    Cluster,
    Json,
    config_map,
    events,
    widget,
)

MAPS = "/api/v1/namespaces/default/configmaps"


def test_a_created_object_has_an_identity_and_a_version(cluster: Cluster) -> None:
    made = cluster.ok("POST", MAPS, config_map(a="1"))
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert cluster.ok("GET", f"{MAPS}/c") == made


def test_a_name_can_be_taken_only_once(cluster: Cluster) -> None:
    cluster.ok("POST", MAPS, config_map())
    refusal = cluster.refused(409, "POST", MAPS, config_map())
    assert refusal["reason"] == "AlreadyExists"
    assert refusal["message"] == 'configmaps "c" already exists'


def test_a_namespace_must_exist(cluster: Cluster) -> None:
    refusal = cluster.refused(404, "POST", "/api/v1/namespaces/nowhere/configmaps", config_map())
    assert refusal["message"] == 'namespaces "nowhere" not found'


def test_an_update_of_what_has_changed_since_is_a_conflict(cluster: Cluster) -> None:
    made = cluster.ok("POST", MAPS, config_map(a="1"))
    cluster.ok("PUT", f"{MAPS}/c", {**made, "data": {"a": "2"}})
    refusal = cluster.refused(409, "PUT", f"{MAPS}/c", {**made, "data": {"a": "3"}})
    assert refusal["reason"] == "Conflict"
    assert "the object has been modified" in refusal["message"]


def test_an_update_that_changes_nothing_writes_nothing(cluster: Cluster) -> None:
    made = cluster.ok("POST", MAPS, config_map(a="1"))
    cluster.clock.advance(60)
    again = cluster.ok("PUT", f"{MAPS}/c", made)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_generation_counts_changes_of_the_spec_alone(cluster: Cluster) -> None:
    assert cluster.ok("POST", WIDGETS, widget())["metadata"]["generation"] == 1
    labelled = cluster.ok("PATCH", f"{WIDGETS}/w", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert labelled["metadata"]["generation"] == 1
    counted = cluster.ok("PATCH", f"{WIDGETS}/w/status", {"status": {"count": 4}}, MERGE)
    assert counted["metadata"]["generation"] == 1
    sized = cluster.ok("PATCH", f"{WIDGETS}/w", {"spec": {"size": 5}}, MERGE)
    assert sized["metadata"]["generation"] == 2


def test_each_subresource_changes_only_its_own_part(cluster: Cluster) -> None:
    cluster.ok("POST", WIDGETS, widget())
    main = cluster.ok("PATCH", f"{WIDGETS}/w", {"spec": {"size": 5}, "status": {"count": 9}}, MERGE)
    assert "count" not in main["status"]
    status = cluster.ok("PATCH", f"{WIDGETS}/w/status", {"spec": {"size": 6}, "status": {"count": 9}}, MERGE)
    assert (status["spec"]["size"], status["status"]["count"]) == (5, 9)


def test_the_default_status_is_there_from_the_first_moment(cluster: Cluster) -> None:
    made = cluster.ok("POST", WIDGETS, widget())
    assert made["status"] == {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Pending"}]}


def test_a_finalizer_keeps_a_deleted_object_until_it_is_released(cluster: Cluster) -> None:
    body = config_map()
    body["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.ok("POST", MAPS, body)
    watch = cluster.watch(MAPS, resourceVersion=str(cluster.store.revisions.current))
    marked = cluster.ok("DELETE", f"{MAPS}/c")
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    cluster.ok("PATCH", f"{MAPS}/c", {"metadata": {"finalizers": None}}, MERGE)
    cluster.refused(404, "GET", f"{MAPS}/c")
    assert [kind for kind, _ in events(watch)] == ["MODIFIED", "DELETED"]


def test_no_finalizer_is_added_to_what_is_being_deleted(cluster: Cluster) -> None:
    body = config_map()
    body["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.ok("POST", MAPS, body)
    cluster.ok("DELETE", f"{MAPS}/c")
    patch = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    refusal = cluster.refused(422, "PATCH", f"{MAPS}/c", patch, MERGE)
    assert refusal["details"]["causes"][0]["field"] == "metadata.finalizers"


@pytest.mark.parametrize("precondition", [{"uid": "somebody-else"}, {"resourceVersion": "1"}])
def test_a_delete_meant_for_another_object_is_refused(cluster: Cluster, precondition: Json) -> None:
    cluster.ok("POST", MAPS, config_map())
    refusal = cluster.refused(409, "DELETE", f"{MAPS}/c", {"preconditions": precondition})
    assert refusal["reason"] == "Conflict"


def test_a_failed_test_of_a_json_patch_changes_nothing(cluster: Cluster) -> None:
    made = cluster.ok("POST", MAPS, config_map(a="1"))
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": "other"},
        {"op": "replace", "path": "/data/a", "value": "2"},
    ]
    cluster.refused(422, "PATCH", f"{MAPS}/c", patch, JSON_PATCH)
    assert cluster.ok("GET", f"{MAPS}/c") == made


def test_a_dry_run_answers_but_stores_nothing(cluster: Cluster) -> None:
    made = cluster.ok("POST", MAPS, config_map(), dryRun="All")
    assert made["metadata"]["name"] == "c"
    cluster.refused(404, "GET", f"{MAPS}/c")


def test_the_same_requests_always_give_the_same_bytes(another: Callable[[], Cluster]) -> None:
    def run(cluster: Cluster) -> list[bytes]:
        generated = config_map()
        generated["metadata"] = {"generateName": "c-"}
        return [
            cluster.answer("POST", MAPS, generated).body,
            cluster.answer("POST", WIDGETS, widget()).body,
            cluster.answer("GET", MAPS).body,
        ]

    assert run(another()) == run(another())


def test_the_hash_seed_does_not_matter() -> None:
    script = (
        "import random, datetime\n"
        "from seamark_cluster.embedded import EmbeddedTransport, Store\n"
        "from seamark_runtime.transport import HttpRequest\n"
        "class Clock:\n"
        "    def monotonic(self): return 0.0\n"
        "    def wall(self): return datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)\n"
        "store = Store(Clock(), random.Random(7))\n"
        'body = b\'{"metadata":{"name":"c","labels":{"a":"b","c":"d"}},"data":{"x":"1","y":"2"}}\'\n'
        "path = '/api/v1/namespaces/default/configmaps'\n"
        "print(store.handle(HttpRequest('POST', path, body=body)).body)\n"
        'patch = b\'{"apiVersion":"v1","kind":"ConfigMap","data":{"x":"2","y":"3"}}\'\n'
        "query = {'fieldManager': 'other'}\n"
        "print(store.handle(HttpRequest('PATCH', path + '/c', query, patch, 'application/apply-patch+yaml')).body)\n"
    )
    outputs = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
        outputs.add(run.stdout)
    assert len(outputs) == 1
