"""Watch and list: streams that resume, consistent pages, and 410 when the history is gone."""

from __future__ import annotations

import asyncio
import json

from seamark_cluster.embedded import EmbeddedTransport, Pace, Settings, Store
from seamark_runtime.transport import HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.unit.cluster.embedded.conftest import MERGE, Cluster, Json, config_map, events

MAPS = "/api/v1/namespaces/default/configmaps"


def test_a_watch_resumes_exactly_where_it_was(cluster: Cluster) -> None:
    first = cluster.ok("POST", MAPS, config_map("a"))
    cluster.ok("POST", MAPS, config_map("b"))
    cluster.ok("DELETE", f"{MAPS}/a")
    watch = cluster.watch(MAPS, resourceVersion=first["metadata"]["resourceVersion"])
    assert [(kind, obj["metadata"]["name"]) for kind, obj in events(watch)] == [("ADDED", "b"), ("DELETED", "a")]


def test_a_streaming_list_ends_with_an_annotated_bookmark(cluster: Cluster) -> None:
    cluster.ok("POST", MAPS, config_map("a"))
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    (added, _), (kind, bookmark) = events(cluster.watch(MAPS, **query))
    assert (added, kind) == ("ADDED", "BOOKMARK")
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert bookmark["metadata"]["resourceVersion"] == str(cluster.store.revisions.current)


def test_a_watch_at_a_compacted_revision_gets_410(cluster: Cluster) -> None:
    first = cluster.ok("POST", MAPS, config_map("a"))
    cluster.ok("POST", MAPS, config_map("b"))
    cluster.store.compact()
    watch = cluster.watch(MAPS, resourceVersion=first["metadata"]["resourceVersion"])
    ((kind, status),) = events(watch)
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert not watch.open


def test_an_object_that_leaves_the_selection_is_deleted_for_its_watchers(cluster: Cluster) -> None:
    body = config_map("a")
    body["metadata"]["labels"] = {"app": "x"}
    cluster.ok("POST", MAPS, body)
    watch = cluster.watch(MAPS, labelSelector="app=x", resourceVersion=str(cluster.store.revisions.current))
    cluster.ok("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"app": "y"}}}, MERGE)
    cluster.ok("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"app": "x"}}}, MERGE)
    assert [(kind, obj["metadata"]["labels"]["app"]) for kind, obj in events(watch)] == [
        ("DELETED", "x"),
        ("ADDED", "x"),
    ]


def test_pages_of_a_list_are_all_of_one_moment(cluster: Cluster) -> None:
    for name in "abcde":
        cluster.ok("POST", MAPS, config_map(name))
    first = cluster.ok("GET", MAPS, limit="2")
    assert first["metadata"]["remainingItemCount"] == 3
    cluster.ok("DELETE", f"{MAPS}/d")
    second = cluster.ok("GET", MAPS, limit="10", **{"continue": first["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in second["items"]] == ["c", "d", "e"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_page_of_a_compacted_revision_is_refused_with_a_new_token(cluster: Cluster) -> None:
    for name in "abc":
        cluster.ok("POST", MAPS, config_map(name))
    first = cluster.ok("GET", MAPS, limit="1")
    cluster.ok("POST", MAPS, config_map("d"))
    cluster.store.compact()
    refusal = cluster.refused(410, "GET", MAPS, **{"continue": first["metadata"]["continue"]})
    rest = cluster.ok("GET", MAPS, **{"continue": refusal["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c", "d"]


def test_a_restore_brings_back_the_past_and_its_revisions(cluster: Cluster) -> None:
    cluster.ok("POST", MAPS, config_map("a"))
    then = cluster.store.revisions.current
    cluster.ok("POST", MAPS, config_map("b"))
    cluster.ok("DELETE", f"{MAPS}/a")
    watch = cluster.watch(MAPS)
    cluster.store.restore(then)
    assert not watch.open
    listed = cluster.ok("GET", MAPS)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
    assert listed["metadata"]["resourceVersion"] == str(then)


def test_a_quiet_stream_gets_bookmarks_and_ends_in_time() -> None:
    async def run() -> list[Json]:
        store = Store(settings=Settings(pace=Pace(bookmark=0.01, lifetime=0.035)))
        transport = EmbeddedTransport(store)
        query = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": str(store.revisions.current)}
        async with transport.stream(HttpRequest("GET", received_path(MAPS), query)) as stream:
            return [json.loads(line) async for line in stream.chunks()]

    lines = asyncio.run(run())
    assert lines
    assert {line["type"] for line in lines} == {"BOOKMARK"}


def test_a_reader_wakes_when_something_happens_and_when_the_server_restarts() -> None:
    async def run() -> list[str]:
        store = Store()
        transport = EmbeddedTransport(store)
        seen: list[str] = []

        async def follow() -> None:
            query = {"watch": "true", "resourceVersion": str(store.revisions.current)}
            async with transport.stream(HttpRequest("GET", received_path(MAPS), query)) as stream:
                async for line in stream.chunks():
                    seen.append(json.loads(line)["object"]["metadata"]["name"])

        reader = asyncio.create_task(follow())
        await asyncio.sleep(0)
        await transport.send(HttpRequest("POST", received_path(MAPS), body=json.dumps(config_map("a")).encode()))
        while not seen:
            await asyncio.sleep(0)
        store.restart()
        await reader
        return seen

    assert asyncio.run(asyncio.wait_for(run(), 5)) == ["a"]


def test_history_is_bounded() -> None:
    store = Store(settings=Settings(history=10))
    for number in range(50):
        store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}})
    oldest = store.revisions.compacted
    assert store.revisions.current - 20 <= oldest <= store.revisions.current - 10
