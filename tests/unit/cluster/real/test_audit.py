"""Counting requests from an audit log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seamark_cluster.real.audit import AuditLog
from seamark_runtime.errors import SeamarkError


def line(audit_id: str, verb: str, user: str = "alice", stage: str = "ResponseComplete", **ref: str) -> str:
    event: dict[str, Any] = {
        "kind": "Event",
        "auditID": audit_id,
        "stage": stage,
        "verb": verb,
        "requestURI": "/x",
        "user": {"username": user, "groups": ["g"]},
        "objectRef": ref,
        "responseStatus": {"metadata": {}, "code": 200},
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
    }
    return json.dumps(event) + "\n"


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    path = tmp_path / "audit.log"
    path.write_text(
        line("1", "watch", stage="ResponseStarted", resource="pods")
        + line("2", "create", resource="services")
        + line("3", "patch", user="bob", resource="services", subresource="status")
        + line("1", "watch", resource="pods")
    )
    return AuditLog(path)


def test_a_log_that_was_not_begun_counts_nothing(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "none")
    assert (log.mark(), log.count()) == (0, 0)


def test_a_watch_that_began_and_ended_is_one_request(log: AuditLog) -> None:
    assert log.count(verb="watch") == 1
    assert log.entries()[0].finished


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 3),
        ({"user": "alice"}, 2),
        ({"user": "alice", "resource": "services"}, 1),
        ({"resource": "services", "subresource": ""}, 1),
        ({"subresource": "status"}, 1),
        ({"user": "carol"}, 0),
    ],
)
def test_requests_are_counted_by_what_is_given(log: AuditLog, given: dict[str, str], expected: int) -> None:
    assert log.count(**given) == expected  # type: ignore[arg-type]  # the parameters are all strings


def test_a_tally_is_by_user_verb_resource_and_subresource(log: AuditLog) -> None:
    assert log.tally(user="bob") == {("bob", "patch", "services", "status"): 1}


def test_readings_since_a_mark_leave_out_what_came_before(log: AuditLog) -> None:
    mark = log.mark()
    with log.path.open("a") as file:
        file.write(line("4", "delete", resource="services"))
    assert [entry.verb for entry in log.entries(mark)] == ["delete"]


def test_a_line_that_is_still_being_written_is_left_for_later(log: AuditLog) -> None:
    mark, text = log.mark(), line("5", "get", resource="pods")
    with log.path.open("a") as file:
        file.write(text[:40])
        file.flush()
        assert log.entries(mark) == []
        file.write(text[40:])
    assert [entry.verb for entry in log.entries(mark)] == ["get"]


def test_waiting_ends_with_an_error_at_its_limit(log: AuditLog) -> None:
    with pytest.raises(SeamarkError, match="it has 3 entries"):
        log.wait_for(lambda entries: len(entries) > 3, seconds=0)
