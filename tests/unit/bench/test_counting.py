from __future__ import annotations

from typing import Any

from seamark_cluster.real.audit import Entry
from tests.bench.counting import Requests, count


def entry(verb: str, resource: str, subresource: str = "", *, user: str = "operator", code: int = 200) -> Entry:
    said: dict[str, Any] = {"group": "", "namespace": "bench", "name": "x", "uri": "", "agent": "", "received": ""}
    return Entry(user=user, verb=verb, resource=resource, subresource=subresource, code=code, finished=True, **said)


def test_writes_are_counted_by_what_was_done_to_what() -> None:
    entries = [entry("create", "configmaps"), entry("create", "configmaps"), entry("patch", "greetings", "status")]
    assert count(entries, "operator").writes == {"create configmaps": 2, "patch greetings/status": 1}


def test_other_users_do_not_count() -> None:
    assert count([entry("create", "configmaps", user="bench")], "operator") == Requests()


def test_events_are_writes_like_others() -> None:
    assert count([entry("create", "events")], "operator").counted == 1


def test_leases_are_apart_whatever_is_done_to_them() -> None:
    found = count([entry("patch", "leases"), entry("get", "leases", code=404)], "operator")
    assert (found.leases, found.counted, found.refused) == (2, 0, 0)


def test_watches_are_apart_and_other_reads_are_requests() -> None:
    found = count([entry("watch", "greetings"), entry("list", "greetings"), entry("get", "configmaps")], "operator")
    assert (found.watches, found.counted) == (1, 2)
    assert found.reads == {"list greetings": 1, "get configmaps": 1}


def test_a_refused_write_is_a_request_all_the_same() -> None:
    found = count([entry("patch", "greetings", "status", code=409)], "operator")
    assert (found.counted, found.refused) == (1, 1)


def test_they_are_told_in_one_line() -> None:
    found = count(
        [entry("create", "configmaps"), entry("get", "pods", code=403), entry("update", "leases")], "operator"
    )
    assert str(found) == (
        "writes: 1 create configmaps; reads: 1 get pods; watches: 0; leases apart: 1; answered with an error: 1"
    )
