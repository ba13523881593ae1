"""Events: one per flip that users should know of, never one per reconcile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

from seamark_runtime.api.meta import Condition
from seamark_runtime.client import Client
from seamark_runtime.events import WINDOW, Events, Notice
from seamark_runtime.heldwarnings import HOLD
from seamark_runtime.metrics import Metrics
from seamark_runtime.transport import Answer, HttpRequest
from tests.unit.runtime.scripted import ScriptedTransport, body, failed, lamp, ok
from tests.virtual_time import CLOCK, run, settle

LAMP = lamp("a", uid="u1")


def ready(status: str, message: str = "words", time: str = "2026-01-01T00:00:00Z") -> Condition:
    return Condition(type="Ready", status=status, reason="Because", message=message, last_transition_time=time)


def taken(_request: HttpRequest) -> Answer:
    return ok({"metadata": {"name": "e"}}, 201)


def told(
    test: Callable[[Events], Coroutine[Any, Any, None]],
    respond: Callable[[HttpRequest], Answer] = taken,
    limit: int = 1000,
) -> tuple[list[HttpRequest], Metrics]:
    transport, metrics = ScriptedTransport(respond), Metrics()

    async def program() -> None:
        events = Events(Client(transport, manager="seamark"), CLOCK, metrics, "pod-1", limit)
        running = asyncio.create_task(events.run())
        await test(events)
        await settle()
        running.cancel()

    run(program())
    return transport.sent, metrics


def flips(*pairs: tuple[str | None, str], apart: float = HOLD + 1) -> list[dict[str, Any]]:
    """The events of these flips, so many seconds apart."""

    async def test(events: Events) -> None:
        for moment, (before, after) in enumerate(pairs):
            time = f"2026-01-01T00:00:{moment:02}Z"
            events.flip(LAMP, ready(before) if before else None, ready(after, time=time))
            await asyncio.sleep(apart)

    return [body(request) for request in told(test)[0]]


def test_becoming_true_at_birth_is_no_event() -> None:
    assert flips((None, "True")) == []
    assert flips(("Unknown", "True")) == []


def test_a_failure_is_a_warning_and_its_recovery_is_told() -> None:
    assert [event["type"] for event in flips(("True", "False"), ("False", "True"))] == ["Warning", "Normal"]


def test_an_object_that_was_merely_new_is_no_event() -> None:
    assert flips((None, "False"), ("False", "True"), apart=HOLD - 1) == []
    assert flips((None, "False"), ("False", "Unknown"), ("Unknown", "True"), apart=HOLD / 3) == []


def test_only_the_first_failure_is_held_whether_it_was_reported_or_not() -> None:
    blink = (("True", "False"), ("False", "True"))
    assert [event["type"] for event in flips(*blink, *blink, apart=1.0)] == ["Warning", "Normal"]


def test_what_is_held_is_reported_as_it_is_then() -> None:
    async def test(events: Events) -> None:
        events.flip(LAMP, None, ready("False", "early words"))
        events.changed(LAMP, ready("False", "later words"))
        await asyncio.sleep(HOLD - 1)
        await settle()
        assert events.held == 1
        await asyncio.sleep(2)

    (request,) = told(test)[0]
    assert body(request)["note"] == "later words"


def test_nothing_is_reported_of_an_object_that_was_deleted_meanwhile() -> None:
    async def test(events: Events) -> None:
        events.flip(LAMP, None, ready("False"))
        events.gone(LAMP.RESOURCE, LAMP.key)
        await asyncio.sleep(HOLD + 1)

    assert told(test)[0] == []


def test_a_recovery_by_way_of_unknown_is_told_once() -> None:
    history = (("True", "False"), ("False", "Unknown"), ("Unknown", "True"), ("True", "Unknown"), ("Unknown", "True"))
    assert [event["type"] for event in flips(*history)] == ["Warning", "Normal"]


def test_a_failure_before_a_restart_is_remembered_by_the_object() -> None:
    assert [event["type"] for event in flips(("False", "True"))] == ["Normal"]


def test_an_event_says_what_about_whom_and_from_whom() -> None:
    (event,) = flips(("True", "False"))
    assert event["reason"] == "Because"
    assert event["note"] == "words"
    assert event["reportingController"] == "seamark"
    assert event["reportingInstance"] == "pod-1"
    assert event["regarding"] == {
        "apiVersion": "test.seamark.dev/v1",
        "kind": "Lamp",
        "name": "a",
        "namespace": "ns",
        "uid": "u1",
    }
    assert event["metadata"]["namespace"] == "ns"
    assert event["eventTime"] == "2026-01-01T00:00:15.000000Z"


def notices(*moments: float) -> list[HttpRequest]:
    async def test(events: Events) -> None:
        for moment in moments:
            await asyncio.sleep(moment - CLOCK.monotonic())
            events.notice(LAMP, Notice("Odd", "the same words"))
            await settle()

    return told(test)[0]


def test_the_same_words_are_one_event_and_are_counted() -> None:
    assert [request.method for request in notices(0, 1, 2, 3)] == ["POST"]


def test_the_same_words_after_a_while_become_a_series_on_the_same_event() -> None:
    first, second = notices(0, 1, WINDOW + 1)
    assert (first.method, second.method) == ("POST", "PATCH")
    assert second.path.endswith(body(first)["metadata"]["name"])
    assert body(second)["series"]["count"] == 3


def test_other_words_are_another_event() -> None:
    async def test(events: Events) -> None:
        events.notice(LAMP, Notice("Odd", "one"))
        events.notice(LAMP, Notice("Odd", "two"))
        events.notice(replace(LAMP, metadata=replace(LAMP.metadata, uid="u2")), Notice("Odd", "one"))

    assert len({body(request)["metadata"]["name"] for request in told(test)[0]}) == 3


def test_a_restarted_operator_does_not_say_it_again() -> None:
    _, metrics = told(_once, lambda _request: failed(409, "AlreadyExists"))
    assert metrics.registry.get_sample_value("seamark_events_dropped_total") == 0


async def _once(events: Events) -> None:
    events.notice(LAMP, Notice("Odd", "words"))


def test_a_series_whose_event_the_server_has_forgotten_begins_with_a_new_event() -> None:
    def forgetful(request: HttpRequest) -> Answer:
        return failed(404, "NotFound") if request.method == "PATCH" else taken(request)

    async def test(events: Events) -> None:
        events.notice(LAMP, Notice("Odd", "words"))
        await asyncio.sleep(WINDOW + 1)
        events.notice(LAMP, Notice("Odd", "words"))

    sent, metrics = told(test, forgetful)
    assert [request.method for request in sent] == ["POST", "PATCH", "POST"]
    assert metrics.registry.get_sample_value("seamark_events_dropped_total") == 0


@pytest.mark.parametrize("words", ["x" * 5000, "ä" * 600, "…" * 2000, "日" * 342])
def test_a_note_is_cut_to_what_the_api_takes_in_bytes(words: str) -> None:
    async def test(events: Events) -> None:
        events.notice(LAMP, Notice("Odd", words))

    note = body(told(test)[0][0])["note"]
    assert len(note.encode()) <= 1024
    assert note.endswith("…")


def test_a_note_that_fits_is_not_cut() -> None:
    async def test(events: Events) -> None:
        events.notice(LAMP, Notice("Odd", "x" * 1024))

    assert body(told(test)[0][0])["note"] == "x" * 1024


def test_the_name_of_an_event_is_legal_for_the_longest_names() -> None:
    async def test(events: Events) -> None:
        for tail in ("-", ".", "x"):
            events.notice(lamp("x" * 229 + tail + "y" * 23), Notice("Odd", "words"))

    for request in told(test)[0]:
        name = body(request)["metadata"]["name"]
        assert len(name) <= 253
        assert "-." not in name
        assert ".." not in name


def test_an_event_that_the_server_refuses_costs_that_event_and_a_metric() -> None:
    answers = [failed(403, "Forbidden"), ok({}, 201)]

    async def test(events: Events) -> None:
        events.notice(LAMP, Notice("Odd", "one"))
        events.notice(LAMP, Notice("Odd", "two"))

    sent, metrics = told(test, lambda _request: answers.pop(0))
    assert len(sent) == 2
    assert metrics.registry.get_sample_value("seamark_events_dropped_total") == 1


def test_a_flood_of_events_is_bounded() -> None:
    async def test(events: Events) -> None:
        for number in range(10):
            events.notice(LAMP, Notice("Odd", str(number)))

    sent, metrics = told(test, limit=3)
    assert len(sent) == 3
    assert metrics.registry.get_sample_value("seamark_events_dropped_total") == 7


def test_an_event_about_an_object_without_namespace_goes_to_default() -> None:
    async def test(events: Events) -> None:
        events.notice(lamp("a", namespace=""), Notice("Odd", "words"))

    (request,) = told(test)[0]
    assert "/namespaces/default/" in request.path


def test_what_was_told_is_counted_by_its_reason_each_wording_once() -> None:
    async def test(events: Events) -> None:
        for message in ("one", "one", "two"):
            events.notice(LAMP, Notice("InvalidURL", message))

    metrics = told(test)[1]
    labels = {"kind": LAMP.RESOURCE.kind, "reason": "InvalidURL"}
    assert metrics.registry.get_sample_value("seamark_notices_total", labels) == 2
