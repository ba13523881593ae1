"""The watch when the server forgets, goes away, stops sending, or goes back in time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from random import Random

import pytest

from seamark_runtime.client import Client
from seamark_runtime.errors import Retry
from seamark_runtime.transport import Answer, NoAnswerError
from seamark_runtime.watch import Watch
from seamark_runtime.watchevents import Trouble
from tests.unit.runtime.scripted import HANG, Lamp, ScriptedTransport, bookmark, failed, line, wire
from tests.unit.runtime.test_watch_states import SETTINGS, TOO_LARGE, TOO_OLD, follow, queries
from tests.virtual_time import run


@pytest.mark.parametrize("expired", [TOO_OLD, TOO_LARGE], ids=["410", "version too large"])
def test_an_expired_version_answered_as_a_status_leads_to_a_new_list(expired: Answer) -> None:
    again = [line("ADDED", wire("b", 20)), bookmark(30, initial=True), HANG]
    transport = ScriptedTransport(streams=[[bookmark(5, initial=True)], expired, again])
    seen, _ = follow(transport, 5)
    assert seen.brief() == ["restarted", "synced@5", "restarted", "+b@20", "synced@30"]
    assert queries(transport) == ["", "5", ""]


def test_a_410_inside_the_stream_leads_to_a_new_list() -> None:
    gone = line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
    transport = ScriptedTransport(streams=[[bookmark(5, initial=True), gone], [bookmark(30, initial=True), HANG]])
    seen, _ = follow(transport, 5)
    assert seen.brief() == ["restarted", "synced@5", "restarted", "synced@30"]


def test_a_bookmark_of_the_past_shows_a_restored_cluster_and_leads_to_a_new_list() -> None:
    # The server would send nothing below the version we asked for, and so hide all that happens meanwhile.
    restored = [line("ADDED", wire("a", 30)), bookmark(30, initial=True), HANG]
    transport = ScriptedTransport(streams=[[bookmark(500, initial=True), bookmark(20)], restored])
    seen, _ = follow(transport, 5)
    assert seen.brief() == ["restarted", "synced@500", "restarted", "+a@30", "synced@30"]


def test_a_server_restored_to_the_past_is_found_out_after_an_interruption() -> None:
    # It sends nothing to a watch from its future: no event, no bookmark.
    script = [[bookmark(500, initial=True), NoAnswerError("cut")], [bookmark(30, initial=True), HANG]]
    transport = ScriptedTransport(respond=lambda _request: TOO_LARGE, streams=script)
    seen, _ = follow(transport, 10)
    assert seen.brief() == ["restarted", "synced@500", "trouble", "restarted", "synced@30"]
    (asked,) = transport.sent
    assert (asked.query["resourceVersion"], asked.query["resourceVersionMatch"]) == ("500", "NotOlderThan")
    assert asked.query["limit"] == "1"


def test_an_ordinary_end_of_a_watch_raises_no_doubt() -> None:
    transport = ScriptedTransport(streams=[[bookmark(5, initial=True)], [bookmark(6)], [HANG]])
    follow(transport, 1)
    assert transport.sent == []


def test_a_server_that_expires_every_list_at_once_is_asked_ever_more_rarely() -> None:
    gone = line("ERROR", {"code": 410})
    transport = ScriptedTransport(streams=[[bookmark(5, initial=True), gone] for _ in range(9)])
    follow(transport, 30)
    assert [moment for moment, _ in transport.opened] == [0, 1, 3, 7, 15, 23]


def test_a_server_that_closes_every_watch_at_once_is_asked_ever_more_rarely() -> None:
    transport = ScriptedTransport(streams=[[bookmark(5, initial=True)], *([] for _ in range(9))])
    seen, _ = follow(transport, 30)
    assert [moment for moment, _ in transport.opened] == [0, 0, 1, 3, 7, 15, 23]
    assert seen.brief() == ["restarted", "synced@5"]  # an ordinary end is no trouble


def test_reconnects_back_off_up_to_a_bound_and_begin_anew_after_a_word_from_the_server() -> None:
    lost = NoAnswerError("refused", sent=False)
    good = [bookmark(5, initial=True), bookmark(6), NoAnswerError("cut")]
    transport = ScriptedTransport(streams=[lost, lost, lost, lost, lost, good, lost])
    seen, _ = follow(transport, 40)
    assert [moment for moment, _ in transport.opened] == [0, 1, 3, 7, 15, 23, 24, 26]
    assert isinstance(seen[1], Trouble)
    assert isinstance(seen[1].error, Retry)


def test_a_server_that_names_a_time_is_not_asked_before_it() -> None:
    busy = failed(429, "TooManyRequests", retryAfterSeconds=17)
    transport = ScriptedTransport(streams=[busy, [HANG]])
    follow(transport, 30)
    assert [moment for moment, _ in transport.opened] == [0, 17]


def test_pauses_have_jitter() -> None:
    transport = ScriptedTransport(streams=[NoAnswerError("no")] * 6)

    async def program() -> None:
        watch = Watch(Client(transport, manager="test"), Lamp, Random(1), settings=SETTINGS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(25):
                await watch.run(lambda _event: None)

    run(program())
    moments = [moment for moment, _ in transport.opened]
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    assert all(ceiling / 2 <= gap <= ceiling for gap, ceiling in zip(gaps, [1, 2, 4, 8, 8], strict=False))
    assert len({round(gap, 6) for gap in gaps}) == len(gaps)


def test_a_connection_without_a_byte_is_taken_for_half_open_at_its_idle_deadline() -> None:
    transport = ScriptedTransport(streams=[[bookmark(5, initial=True), 100, bookmark(6), HANG], [HANG]])
    seen, _ = follow(transport, 300)
    assert seen.brief() == ["restarted", "synced@5", "@6", "trouble", "restarted"]
    assert seen.moments[-2:] == [250, 251]
    assert queries(transport) == ["", ""], "what has happened meanwhile is not shown state by state, as if it were now"


def test_after_a_short_interruption_it_goes_on_where_it_was() -> None:
    transport = ScriptedTransport(streams=[[bookmark(5, initial=True), 100, bookmark(6), NoAnswerError("no")], [HANG]])
    seen, _ = follow(transport, 120)
    assert seen.brief() == ["restarted", "synced@5", "@6", "trouble", "@6"]
    assert queries(transport) == ["", "6"]
