"""One object that can't be decoded or processed concerns no other, and ends nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Cache, Index
from seamark_runtime.client import OBJECT, Client
from seamark_runtime.errors import Refused, Retry, SeamarkError, Uncertain
from seamark_runtime.events import Events
from seamark_runtime.failures import Failure, Failures
from seamark_runtime.metrics import Metrics
from seamark_runtime.source import Facts, Informer, Source
from seamark_runtime.transport import Answer
from seamark_runtime.watch import LONGEST_LINE, Watch, lines
from seamark_runtime.watchevents import Broken, Event, Put, Removed, Restarted, Synced
from tests.unit.runtime.scripted import (
    HANG,
    Lamp,
    ScriptedStream,
    ScriptedTransport,
    bookmark,
    failed,
    lamp,
    line,
    ok,
    wire,
)
from tests.unit.runtime.test_source import BY_COLOR, informer, told
from tests.unit.runtime.test_watch_states import NO_STREAMING, Seen, follow
from tests.virtual_time import CLOCK, run, settle

A, B = Key("ns", "a"), Key("ns", "b")
LIMIT = "more than 100 levels of nested maps and lists"


def deep(levels: int = 1_200) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


def nested(name: str, version: int, levels: int = 1_200) -> bytes:
    """A lamp whose spec and managed fields are nested: the name comes after them, as the API server sorts."""
    fields = deep(levels)
    return (
        b'{"aaa":%b,"metadata":{"managedFields":[{"fieldsV1":%b}],"name":"%b","namespace":"ns",'
        b'"resourceVersion":"%d","uid":"uid-%b"},"spec":{"names":%b}}'
    ) % (fields, fields, name.encode(), version, name.encode(), fields)


def event(type_: str, raw: bytes) -> bytes:
    return b'{"object":%b,"type":"%b"}\n' % (raw, type_.encode())


# ---- the watch


@pytest.mark.parametrize("levels", [101, 1_200, 9_990])
def test_an_object_nested_too_deep_is_broken_and_the_others_go_on(levels: int) -> None:
    script = [line("ADDED", wire("a", 1)), event("ADDED", nested("b", 2, levels)), bookmark(3, initial=True)]
    script += [event("MODIFIED", nested("b", 4, levels)), line("MODIFIED", wire("a", 5)), HANG]  # type: ignore[list-item]
    seen, watch = follow(ScriptedTransport(streams=[script]), 1)
    assert seen.brief() == ["restarted", "+a@1", "!b", "synced@3", "!b", "+a@5"]
    assert seen[2] == Broken(B, "uid-b", "2", LIMIT)
    assert watch.version == "5"


def test_the_deletion_of_an_object_nested_too_deep_is_a_deletion() -> None:
    script = [bookmark(1, initial=True), event("DELETED", nested("b", 2)), HANG]
    seen, _ = follow(ScriptedTransport(streams=[script]), 1)
    assert seen.brief() == ["restarted", "synced@1", "-b@2"]


def test_of_a_page_only_the_object_nested_too_deep_is_broken() -> None:
    items = b",".join((json.dumps(wire("a", 1)).encode(), nested("b", 2), json.dumps(wire("c", 3)).encode()))
    page = Answer(200, b'{"items":[%b],"metadata":{"resourceVersion":"9"}}' % items)
    seen, _ = follow(ScriptedTransport(lambda _request: page, streams=[NO_STREAMING]), 1)
    assert seen.brief() == ["restarted", "restarted", "+a@1", "!b", "+c@3", "synced@9"]


def test_an_object_that_is_too_large_is_broken() -> None:
    large = wire("b", 2, spec={"color": "x" * OBJECT.size})
    script = [line("ADDED", large), line("ADDED", wire("a", 3)), bookmark(4, initial=True), HANG]
    seen, _ = follow(ScriptedTransport(streams=[script]), 1)
    assert seen.brief() == ["restarted", "!b", "+a@3", "synced@4"]
    assert "are allowed" in seen[1].message  # type: ignore[union-attr]


def test_a_line_without_end_is_not_collected_for_ever() -> None:
    endless = [bookmark(1, initial=True), *[b"x" * 2**20] * (LONGEST_LINE // 2**20 + 1), HANG]
    seen, _ = follow(ScriptedTransport(streams=[endless]), 0.5)
    assert seen.brief() == ["restarted", "synced@1", "trouble"]


def test_a_line_in_many_pieces_takes_time_that_is_linear_in_its_length() -> None:
    pieces = [b"x" * 500] * 16_000

    async def collected() -> list[int]:
        return [len(line) async for line in lines(ScriptedStream(200, [*pieces, b"y\nz\n"]), 10.0)]

    began = time.process_time()
    assert run(collected()) == [8_000_001, 1]
    assert time.process_time() - began < 2.0, "to copy what has arrived with each piece takes ten times as long"


@pytest.mark.parametrize("value", ["9" * 5_000, "1e999", "[]", "null", "true"], ids=lambda value: value[:10])
def test_a_value_that_does_not_fit_concerns_its_object_alone(value: str) -> None:
    head = '{"metadata":{"name":"b","namespace":"ns","uid":"uid-b","resourceVersion":"2"},"spec":{"color":'
    script = [event("ADDED", f"{head}{value}}}}}".encode()), line("ADDED", wire("a", 3)), bookmark(4, initial=True)]
    seen, _ = follow(ScriptedTransport(streams=[[*script, HANG]]), 1)
    assert seen.brief() == ["restarted", "!b", "+a@3", "synced@4"]


def test_a_sink_that_raises_for_an_object_gets_it_as_broken_and_hears_of_the_others() -> None:
    seen = Seen()

    def sink(event: Event) -> None:
        if isinstance(event, Put) and event.object.metadata.name == "b":
            raise ValueError("Exceeds the limit (4300 digits)")
        seen(event)

    async def program() -> None:
        script = [line("ADDED", wire("b", 2)), line("ADDED", wire("a", 3)), bookmark(4, initial=True), HANG]
        watch = Watch(Client(ScriptedTransport(streams=[script]), manager="test"), Lamp, Random(0))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await watch.run(sink)

    run(program())
    assert seen.brief() == ["restarted", "!b", "+a@3", "synced@4"]
    assert seen[1] == Broken(B, "uid-b", "2", "ValueError: Exceeds the limit (4300 digits)", "index")


def test_a_sink_that_always_raises_does_not_end_the_watch() -> None:
    async def program() -> None:
        script = [line("ADDED", wire("b", 2)), bookmark(4, initial=True), HANG]
        watch = Watch(Client(ScriptedTransport(streams=[script]), manager="test"), Lamp, Random(0))
        task = asyncio.get_running_loop().create_task(watch.run(lambda _event: 1 / 0))  # type: ignore[arg-type]
        await asyncio.sleep(100)
        assert not task.done()
        assert watch.version == "4"
        task.cancel()

    run(program())


# ---- indexes


def digits(obj: Lamp) -> Iterable[int]:
    return (int(obj.spec.color or "0"),)


BY_NUMBER = Index(Lamp, digits, "lamps by number")


def test_an_index_function_that_raises_leaves_the_cache_as_it_was() -> None:
    cache = Cache((BY_COLOR, BY_NUMBER))
    first = lamp("a", color="1")
    cache.put(first)
    with pytest.raises(ValueError, match="4300 digits"):
        cache.put(lamp("a", version=2, color="9" * 5_000))
    assert (cache.get(A), cache.by(BY_COLOR, "1"), cache.by(BY_NUMBER, 1)) == (first, (first,), (first,))


def test_an_index_function_that_has_changed_its_mind_does_not_keep_an_object_in_the_cache() -> None:
    raising = False

    def moody(obj: Lamp) -> Iterable[str]:
        if raising:
            raise ValueError("not any more")
        return (obj.spec.color,)

    index = Index(Lamp, moody, "moody")
    cache = Cache((BY_COLOR, index))
    cache.put(lamp("a", color="red"))
    raising = True
    assert cache.remove(A).before is not None
    assert (len(cache), cache.by(index, "red"), cache.by(BY_COLOR, "red")) == (0, (), ())


def watched(*events: Event, indexes: tuple[Index[Lamp], ...] = (BY_NUMBER,)) -> tuple[Informer[Lamp], list[Failure]]:
    """An informer that was handed these by its watch."""
    made, failures = informer(*indexes), list[Failure]()
    made.on_failure = failures.append
    for one in events:
        made.watch._deliver(one, made.handle)
    return made, failures


def test_an_object_for_which_an_index_raises_is_absent_everywhere_until_it_changes() -> None:
    huge = lamp("a", version=11, color="9" * 5_000)
    made, failures = watched(Restarted(), Put(lamp("a", color="1")), Put(lamp("b")), Synced("10"))
    tokens = told(made)
    made.watch._deliver(Put(huge), made.handle)
    assert (made.cache.get(A), made.cache.by(BY_NUMBER, 1), made.cache.by(BY_COLOR, "1")) == (None, (), ())
    assert made.cache.get(B) is not None
    assert (A in tokens, (BY_NUMBER, 1) in tokens) == (True, True)
    assert made.revision == 11
    assert [(one.stage, one.kind) for one in failures] == [("index", "Lamp")]
    made.watch._deliver(Put(lamp("a", version=12, color="2")), made.handle)
    assert len(made.cache.by(BY_NUMBER, 2)) == 1
    assert made.broken == {}


def test_what_is_broken_is_reported_once_and_not_with_each_list() -> None:
    broken = Broken(A, "uid-a", "5", LIMIT)
    listing: list[Event] = [Restarted(), broken, Synced("10")]
    _, failures = watched(*listing, *listing, Restarted(), *listing)
    assert len(failures) == 1
    _, failures = watched(*listing, Restarted(), Broken(A, "uid-a", "11", "something else"))
    assert [one.message for one in failures] == [LIMIT, "something else"]
    _, failures = watched(*listing, Restarted(), Broken(A, "another uid", "11", LIMIT))
    assert len(failures) == 2


# ---- listeners


def test_a_listener_that_raises_keeps_no_other_from_hearing() -> None:
    facts, failures, tokens = Facts[str, int]("probes"), list[Failure](), list[Any]()
    facts.on_failure = failures.append

    def broken(_source: Source, _token: object) -> None:
        raise RuntimeError("no")

    facts.subscribe(broken)
    facts.subscribe(lambda _source, token: tokens.append(token))
    facts.put("a", 1)
    assert tokens == ["a"]
    assert failures == [Failure("listener", "probes", message="RuntimeError: no")]


def test_an_observer_that_raises_keeps_no_other_from_hearing() -> None:
    made, failures = watched(Restarted(), Synced("10"))
    changes: list[Any] = []
    made.on_change(lambda _informer, _change: 1 / 0)  # type: ignore[arg-type]
    made.on_change(lambda _informer, change: changes.append(change.key))
    made.on_progress(lambda _informer: 1 / 0)  # type: ignore[arg-type]
    made.watch._deliver(Put(lamp("a")), made.handle)
    assert changes == [A]
    assert made.cache.get(A) is not None
    assert {one.stage for one in failures} == {"listener"}


# ---- what is reported about it


def test_a_failure_is_counted_and_told_on_its_object_once_this_process_leads() -> None:
    async def program() -> None:
        server, metrics = ScriptedTransport(lambda request: Answer(201, request.body)), Metrics()
        events = Events(Client(server, manager="test"), CLOCK, metrics, "me")
        failures = Failures(metrics, events)
        made, _ = watched()
        made.on_failure = failures.report
        running = asyncio.get_running_loop().create_task(events.run())
        for one in (Restarted(), Broken(A, "uid-a", "5", LIMIT), Synced("10")):
            made.handle(one)
        await settle()
        assert server.sent == []  # another process leads
        failures.lead(made.failures())
        await settle()
        (sent,) = server.sent
        told = json.loads(sent.body)
        assert sent.path == "/apis/events.k8s.io/v1/namespaces/ns/events"
        assert (told["reason"], told["type"], told["regarding"]["uid"]) == ("Unreadable", "Warning", "uid-a")
        assert told["note"] == f"Seamark can't read this object and ignores it until it changes: {LIMIT}"
        failures.follow()
        failures.report(Failure("decode", Lamp.RESOURCE, lamp("b").metadata, "no"))
        await settle()
        assert len(server.sent) == 1
        assert (
            metrics.registry.get_sample_value("seamark_object_failures_total", {"kind": "Lamp", "stage": "decode"}) == 2
        )
        running.cancel()

    run(program())


def test_an_event_that_can_not_be_sent_does_not_end_the_sending() -> None:
    async def program() -> None:
        answers: list[Any] = [TypeError("not ours"), ok({}, 201)]
        server, metrics = ScriptedTransport(lambda _request: answers.pop(0)), Metrics()
        events = Events(Client(server, manager="test"), CLOCK, metrics, "me")
        failures = Failures(metrics, events)
        failures.lead(Failure("decode", Lamp.RESOURCE, lamp(name).metadata, "no \ud800") for name in "ab")
        running = asyncio.get_running_loop().create_task(events.run())
        await settle()
        assert (len(server.sent), running.done()) == (2, False)
        running.cancel()

    run(program())


# ---- the client


BODIES = {
    "too deep": (b'{"metadata":{"name":"a"},"spec":' + deep() + b"}", Refused),
    "of another shape": (b'{"metadata":{"name":1}}', Refused),
    "a number too large": (b'{"metadata":{"generation":' + b"9" * 5_000 + b"}}", Refused),
    "cut off": (b'{"metadata":', Retry),
    "no Unicode": (b'{"metadata":{"name":"\xff"}}', Retry),
    "a page of a proxy": (b"<html>", Retry),
}


@pytest.mark.parametrize("case", BODIES)
def test_an_answer_that_can_not_be_read_is_a_declared_error(case: str) -> None:
    body, reaction = BODIES[case]
    client = Client(ScriptedTransport(lambda _request: Answer(200, body)), manager="test")
    with pytest.raises(reaction):
        run(client.get(Lamp, A))
    with pytest.raises(Uncertain):
        run(client.merge_patch(Lamp, A, {}))


@pytest.mark.parametrize("case", BODIES)
def test_an_error_that_can_not_be_read_is_a_declared_error(case: str) -> None:
    client = Client(ScriptedTransport(lambda _request: Answer(403, BODIES[case][0])), manager="test")
    with pytest.raises(Refused):
        run(client.get(Lamp, A))


def test_a_list_leaves_out_what_can_not_be_read() -> None:
    page = Answer(200, b'{"items":[%b,%b]}' % (nested("b", 2), json.dumps(wire("a", 1)).encode()))
    client = Client(ScriptedTransport(lambda _request: page), manager="test")
    assert [obj.key for obj in run(client.list(Lamp))] == [A]


@pytest.mark.parametrize(
    "value",
    ["\ud800", b"\xff".decode(errors="surrogateescape"), object()],
    ids=["surrogate", "escaped byte", "no JSON type"],
)
def test_what_can_not_be_encoded_is_refused_and_not_sent(value: object) -> None:
    sent = ScriptedTransport()
    with pytest.raises(SeamarkError):
        run(Client(sent, manager="test").merge_patch(Lamp, A, {"spec": {"color": value}}))
    assert sent.sent == []


def test_content_nested_too_deep_to_be_encoded_is_refused() -> None:
    content: dict[str, Any] = {}
    for _ in range(5_000):
        content = {"a": content}
    with pytest.raises(Refused, match="no JSON"):
        run(Client(ScriptedTransport(), manager="test").merge_patch(Lamp, A, content))


def test_a_retry_after_of_foreign_digits_is_ignored() -> None:
    answer = Answer(429, failed(429).body, {"Retry-After": "٣²"})
    with pytest.raises(Retry) as told:
        run(Client(ScriptedTransport(lambda _request: answer), manager="test").get(Lamp, A))
    assert told.value.after is None


def test_removed_objects_are_not_broken_any_more() -> None:
    made, _ = watched(Restarted(), Broken(A, "uid-a", "5", LIMIT), Synced("10"))
    made.handle(Removed(lamp("a", version=12)))
    assert made.broken == {}
