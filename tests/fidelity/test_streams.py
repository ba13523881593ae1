"""Lists page by page, and watches from every starting point."""

from __future__ import annotations

from tests.fidelity.arena import Arena
from tests.fidelity.arena import first_difference as parted
from tests.fidelity.differences import compare
from tests.fidelity.masks import masked
from tests.fidelity.samples import Json
from tests.fidelity.test_access import same


def fill(arena: Arena, namespace: str, names: str) -> str:
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    for name in names:
        same(arena, "admin", "POST", maps, {"metadata": {"name": name, "labels": {"odd": str(ord(name) % 2)}}})
    return maps


def test_pages_agree(arena: Arena) -> None:
    maps = fill(arena, arena.session().namespace, "abcdefg")
    for limit, query in (("2", {}), ("3", {"labelSelector": "odd=1"}), ("1", {"fieldSelector": "metadata.name!=c"})):
        tokens = ["", ""]
        for _ in range(8):
            replies = [
                side.ask("GET", maps, {"limit": limit, "continue": token, **query}, b"", "")
                for side, token in zip(arena.sides, tokens, strict=True)
            ]
            assert not compare(*replies)
            tokens = [reply.body["metadata"].get("continue", "") for reply in replies]
            if not tokens[0]:
                break
        assert tokens == ["", ""]


def both_streams(arena: Arena, path: str, queries: tuple[dict[str, str], dict[str, str]], last: str) -> list[Json]:
    real = [masked(item) for item in arena.real.follow(path, queries[0], last)]
    store = [masked(entry) for entry in arena.store.follow(path, queries[1], last)]
    assert not parted(real, store)
    return real


def test_a_streaming_list_is_the_state_and_its_end(arena: Arena) -> None:
    namespace = arena.session().namespace
    maps = fill(arena, namespace, "abc")
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    streams = []
    for side in arena.sides:
        events = side.follow(maps, query, "")
        streams.append([masked(item) for item in events])
    assert not parted(*streams)
    assert [entry["type"] for entry in streams[0]] == ["ADDED"] * 3 + ["BOOKMARK"]


def test_a_watch_without_a_version_starts_with_the_state(arena: Arena) -> None:
    maps = fill(arena, arena.session().namespace, "abc")
    events = both_streams(arena, maps, ({}, {}), "c")
    assert [item["type"] for item in events] == ["ADDED"] * 3


def test_a_selected_watch_sees_objects_come_and_go(arena: Arena) -> None:
    maps = fill(arena, arena.session().namespace, "ab")
    starts = [side.ask("GET", maps, {}, b"", "").body["metadata"]["resourceVersion"] for side in arena.sides]
    for value in ("0", "1", "0"):
        same(arena, "admin", "PUT", f"{maps}/a", {"metadata": {"name": "a", "labels": {"odd": value}}})
    same(arena, "admin", "DELETE", f"{maps}/a")
    same(arena, "admin", "POST", maps, {"metadata": {"name": "z", "labels": {"odd": "0"}}})
    queries = (
        {"labelSelector": "odd=0", "resourceVersion": starts[0]},
        {"labelSelector": "odd=0", "resourceVersion": starts[1]},
    )
    events = both_streams(arena, maps, queries, "z")
    assert [item["type"] for item in events] == ["ADDED", "DELETED", "ADDED", "DELETED", "ADDED"]


def test_bad_questions_get_the_same_answers(arena: Arena) -> None:
    maps = fill(arena, arena.session().namespace, "a")
    for query in (
        {"sendInitialEvents": "true"},
        {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
        {"labelSelector": "a b c"},
        {"fieldSelector": "nonsense=1"},
    ):
        real, store = (
            side.ask("GET", maps, {"watch": "true", "timeoutSeconds": "1", **query}, b"", "") for side in arena.sides
        )
        found = compare(real, store)
        assert not found, f"{query}: {found}"
