"""The watch, through everything an API server can do to it."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from random import Random

import pytest

from seamark_runtime.api.meta import Key
from seamark_runtime.backoff import Backoff
from seamark_runtime.client import Client
from seamark_runtime.errors import Refused
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError
from seamark_runtime.watch import Following, Watch, WatchSettings, lines
from seamark_runtime.watchevents import Broken, Event, Progress, Put, Removed, Restarted, Synced, Trouble
from tests.unit.runtime.scripted import (
    HANG,
    Lamp,
    ScriptedStream,
    ScriptedTransport,
    TopOfTheRange,
    bookmark,
    failed,
    line,
    ok,
    wire,
)
from tests.virtual_time import elapsed, run

SETTINGS = WatchSettings(idle=150, lifetime=600, backoff=Backoff(first=1.0, most=8.0), page=2)
TOO_OLD = failed(410, "Expired", "too old resource version")
TOO_LARGE = failed(504, "Timeout", "Too large resource version", causes=[{"reason": "ResourceVersionTooLarge"}])
NO_STREAMING = failed(422, "Invalid", "sendInitialEvents is forbidden for watch")


class Seen(list[Event]):
    """What a watch delivered to its sink, each with its time."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: list[float] = []

    def __call__(self, event: Event) -> None:
        self.append(event)
        self.moments.append(elapsed())

    def brief(self) -> list[str]:
        return [brief(event) for event in self]


def brief(event: Event) -> str:  # noqa: PLR0911  one row per event
    match event:
        case Put(object=obj):
            return f"+{obj.metadata.name}@{obj.metadata.resource_version}"
        case Removed(object=obj):
            return f"-{obj.metadata.name}@{obj.metadata.resource_version}"
        case Synced(version=version):
            return f"synced@{version}"
        case Progress(version=version):
            return f"@{version}"
        case Broken(key=key):
            return f"!{key.name}"
        case Trouble():
            return "trouble"
        case Restarted():
            return "restarted"


def follow(
    transport: ScriptedTransport, seconds: float, settings: WatchSettings = SETTINGS
) -> tuple[Seen, Watch[Lamp]]:
    """Follows for that long. Pauses are exactly 1, 2, 4 and 8 seconds."""
    seen = Seen()

    async def program() -> Watch[Lamp]:
        watch = Watch(Client(transport, manager="test"), Lamp, TopOfTheRange(), settings=SETTINGS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await watch.run(seen)
        return watch

    return seen, run(program())


def queries(transport: ScriptedTransport) -> list[str]:
    return [request.query.get("resourceVersion", "") for _, request in transport.opened]


def test_a_streaming_list_gives_the_initial_set_and_goes_on_as_a_watch() -> None:
    script = [line("ADDED", wire("a", 3)), line("ADDED", wire("b", 2)), bookmark(5, initial=True)]
    script += [line("MODIFIED", wire("a", 6)), line("DELETED", wire("b", 7)), bookmark(9), HANG]  # type: ignore[list-item]
    transport = ScriptedTransport(streams=[script])
    seen, watch = follow(transport, 1)
    assert seen.brief() == ["restarted", "+a@3", "+b@2", "synced@5", "+a@6", "-b@7", "@9"]
    assert watch.state == Following("9")
    (_, request), *more = transport.opened
    assert more == []
    assert request.query["sendInitialEvents"] == "true"
    assert request.query["allowWatchBookmarks"] == "true"
    assert request.query["timeoutSeconds"] == "600"


def test_a_bookmark_inside_the_initial_set_is_no_end_of_it() -> None:
    seen, _ = follow(ScriptedTransport(streams=[[bookmark(4), bookmark(5, initial=True), HANG]]), 1)
    assert seen.brief() == ["restarted", "synced@5"]


def test_a_server_without_streaming_lists_is_asked_for_pages_and_not_asked_again() -> None:
    pages = {
        "": {"metadata": {"resourceVersion": "8", "continue": "p2"}, "items": [wire("a", 1), wire("b", 2)]},
        "p2": {"metadata": {"resourceVersion": "8"}, "items": [wire("c", 3)]},
    }
    transport = ScriptedTransport(
        respond=lambda request: ok(pages[request.query.get("continue", "")]),
        streams=[NO_STREAMING, [line("ERROR", {"code": 410, "reason": "Expired"})], [HANG]],
    )
    seen, _ = follow(transport, 60)
    once = ["restarted", "+a@1", "+b@2", "+c@3", "synced@8"]
    assert seen.brief() == ["restarted", *once, *once]
    assert [request.query["limit"] for request in transport.sent] == ["2"] * 4
    assert queries(transport) == ["", "8", "8"]


def test_an_empty_list_is_a_complete_one() -> None:
    answer = ok({"metadata": {"resourceVersion": "3"}, "items": None})
    seen, _ = follow(ScriptedTransport(respond=lambda _request: answer, streams=[NO_STREAMING]), 1)
    assert seen.brief() == ["restarted", "restarted", "synced@3"]


def test_a_page_token_that_expired_begins_the_list_anew() -> None:
    answers = [
        ok({"metadata": {"resourceVersion": "8", "continue": "old"}, "items": [wire("a", 1)]}),
        TOO_OLD,
        ok({"metadata": {"resourceVersion": "9"}, "items": [wire("b", 2)]}),
    ]
    transport = ScriptedTransport(respond=lambda _request: answers.pop(0), streams=[NO_STREAMING])
    seen, _ = follow(transport, 10)
    assert seen.brief() == ["restarted", "restarted", "+a@1", "restarted", "+b@2", "synced@9"]


def test_a_page_that_is_no_list_is_trouble_and_not_the_end() -> None:
    answers = [Answer(200, b"<html>"), ok({"metadata": {"resourceVersion": "9"}})]
    seen, _ = follow(ScriptedTransport(respond=lambda _request: answers.pop(0), streams=[NO_STREAMING]), 10)
    assert seen.brief() == ["restarted", "restarted", "trouble", "restarted", "synced@9"]


def test_a_stream_that_ended_is_resumed_from_the_last_version_handed_on_without_a_new_list() -> None:
    first = [bookmark(5, initial=True), line("ADDED", wire("a", 6)), bookmark(8)]
    transport = ScriptedTransport(streams=[first, [line("MODIFIED", wire("a", 9)), HANG]])
    seen, _ = follow(transport, 1)
    assert seen.brief() == ["restarted", "synced@5", "+a@6", "@8", "+a@9"]
    assert queries(transport) == ["", "8"]


def test_a_line_cut_in_the_middle_is_dropped_and_the_event_comes_again() -> None:
    half = line("MODIFIED", wire("a", 7))[:30]
    cut = [bookmark(5, initial=True), line("ADDED", wire("a", 6)), half, NoAnswerError("cut")]
    transport = ScriptedTransport(streams=[cut, [line("MODIFIED", wire("a", 7)), HANG]])
    seen, _ = follow(transport, 5)
    assert seen.brief() == ["restarted", "synced@5", "+a@6", "trouble", "@6", "+a@7"]
    assert queries(transport) == ["", "6"]


def test_a_streaming_list_cut_before_its_end_begins_anew() -> None:
    whole = [line("ADDED", wire("a", 3)), bookmark(5, initial=True), HANG]
    transport = ScriptedTransport(streams=[[line("ADDED", wire("a", 3))], whole])
    seen, _ = follow(transport, 5)
    assert seen.brief() == ["restarted", "+a@3", "trouble", "restarted", "+a@3", "synced@5"]


def test_lines_are_put_together_wherever_they_were_cut() -> None:
    text = b'{"a":1}\n{"b":"\xc3\xa4"}\n\n{"c":3}\n'

    async def read(size: int) -> list[bytes]:
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        return [whole async for whole in lines(ScriptedStream(200, pieces), 1)]

    for size in range(1, len(text) + 1):
        assert run(read(size)) == [b'{"a":1}', b'{"b":"\xc3\xa4"}', b'{"c":3}']


def test_an_object_that_cant_be_decoded_is_named_and_the_others_go_on() -> None:
    bad = wire("bad", 6, spec={"color": 7})
    script = [line("ADDED", bad), line("ADDED", wire("a", 3)), bookmark(7, initial=True)]
    script += [line("MODIFIED", {**bad, "metadata": {**bad["metadata"], "resourceVersion": "8"}})]
    script += [line("DELETED", {**bad, "metadata": {**bad["metadata"], "resourceVersion": "9"}}), HANG]  # type: ignore[list-item]
    seen, watch = follow(ScriptedTransport(streams=[script]), 1)
    assert seen.brief() == ["restarted", "!bad", "+a@3", "synced@7", "!bad", "-bad@9"]
    assert watch.version == "9"
    broken = seen[1]
    assert isinstance(broken, Broken)
    assert (broken.key, broken.uid, broken.version) == (Key("ns", "bad"), "uid-bad", "6")
    assert "color" in broken.message


@pytest.mark.parametrize(
    "nonsense",
    [b"no json\n", b'{"type":"ADDED"}\n', line("BOOKMARK", {"metadata": {"resourceVersion": 7}}), line("ERROR", [])],  # type: ignore[arg-type]
)
def test_a_line_that_makes_no_sense_is_trouble_and_not_the_end(nonsense: bytes) -> None:
    transport = ScriptedTransport(streams=[[bookmark(5, initial=True), nonsense], [bookmark(6), HANG]])
    seen, _ = follow(transport, 5)
    assert seen.brief() == ["restarted", "synced@5", "trouble", "@5", "@6"]


def test_a_forbidden_list_is_trouble_and_asked_again() -> None:
    forbidden = failed(403, "Forbidden", "lamps is forbidden")
    transport = ScriptedTransport(streams=[forbidden, forbidden, [bookmark(5, initial=True), HANG]])
    seen, _ = follow(transport, 10)
    assert seen.brief() == ["restarted", "trouble", "restarted", "trouble", "restarted", "synced@5"]
    assert isinstance(seen[1], Trouble)
    assert isinstance(seen[1].error, Refused)


def test_a_restart_lists_again_at_once() -> None:
    transport = ScriptedTransport(
        streams=[[bookmark(5, initial=True), HANG], [line("ADDED", wire("a", 6)), bookmark(8, initial=True), HANG]]
    )
    seen = Seen()

    async def program() -> None:
        watch = Watch(Client(transport, manager="test"), Lamp, Random(0), settings=SETTINGS)
        task = asyncio.create_task(watch.run(seen))
        await asyncio.sleep(10)
        watch.restart()
        await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(program())
    assert seen.brief() == ["restarted", "synced@5", "restarted", "+a@6", "synced@8"]
    assert seen.moments[2] == 10


def test_a_cancelled_watch_ends_even_if_somebody_asks_for_a_restart_at_that_moment() -> None:
    async def program() -> None:
        watch = Watch(Client(ScriptedTransport(), manager="test"), Lamp, Random(0), settings=SETTINGS)
        task = asyncio.create_task(watch.run(lambda _event: None))
        await asyncio.sleep(1)
        watch.restart()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)

    run(program())


def test_selectors_and_the_namespace_go_with_every_question() -> None:
    transport = ScriptedTransport(
        respond=lambda _request: ok({"metadata": {"resourceVersion": "8"}}), streams=[NO_STREAMING]
    )

    async def program() -> None:
        selectors = {"labelSelector": "a=b"}
        watch = Watch(
            Client(transport, manager="test"), Lamp, Random(0), "mine", selectors, replace(SETTINGS, lifetime=60)
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await watch.run(lambda _event: None)

    run(program())
    asked: list[HttpRequest] = [*transport.sent, *(request for _, request in transport.opened)]
    assert len(asked) == 3
    assert {request.path for request in asked} == {"/apis/test.seamark.dev/v1/namespaces/mine/lamps"}
    assert {request.query["labelSelector"] for request in asked} == {"a=b"}
    assert all(30 <= int(request.query["timeoutSeconds"]) <= 60 for _, request in transport.opened)
