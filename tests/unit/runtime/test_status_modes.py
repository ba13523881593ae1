"""Both ways of writing status: only our words, only when they differ."""

from __future__ import annotations

import copy
import json
from collections.abc import Hashable
from dataclasses import replace as replace_mode
from typing import Any, ClassVar

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from seamark_runtime.api.meta import Condition, Object, ObjectMeta, Resource, Wire, to_wire
from seamark_runtime.client import Client
from seamark_runtime.conditions import ConditionType, Stamp
from seamark_runtime.status import ByEntry, ByManager, Entries
from tests.unit.runtime.scripted import LampStatus, ScriptedTransport, body, lamp, ok, wire
from tests.virtual_time import run

READY = ConditionType("Ready", meaning="x", reasons={"Good": "x", "Bad": "x", "Pending": "x"}, summary=True)
T1, T2 = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"
MANAGER = ByManager(manager="lamps", conditions=(READY,), fields=("watts",))


def condition(type_: str = "Ready", status: str = "True", time: str = T1) -> Condition:
    return Condition(
        type=type_, status=status, reason="Good", message="", last_transition_time=time, observed_generation=1
    )


# ---- by manager


def judged(watts: int | None = None) -> LampStatus:
    return LampStatus(conditions=(READY.true("Good"),), watts=watts)


def test_what_others_said_is_not_taken_for_ours() -> None:
    live = replace(lamp(), status=LampStatus(conditions=(condition("Foreign"), condition()), watts=5))
    assert MANAGER.published(live, judged()) == LampStatus(conditions=(condition(),), watts=5)


def test_a_judgement_that_was_said_before_does_not_differ() -> None:
    live = replace(lamp(), status=LampStatus(observed_generation=1, conditions=(condition(),), watts=5))
    said = MANAGER.published(live, judged(5))
    assert MANAGER.stamped(judged(5), said, Stamp(1, T2)) == said


def test_a_new_generation_is_said_on_the_status_and_on_every_condition() -> None:
    live = replace(lamp(), status=LampStatus(observed_generation=1, conditions=(condition(),)))
    status = MANAGER.stamped(judged(), MANAGER.published(live, judged()), Stamp(2, T2))
    assert status.observed_generation == 2
    assert [c.observed_generation for c in status.conditions] == [2]
    assert [c.last_transition_time for c in status.conditions] == [T1]


def test_to_say_nothing_any_more_takes_back_all_that_was_said_and_nothing_of_others() -> None:
    live = replace(lamp(), status=LampStatus(conditions=(condition("Foreign"), condition())))
    said = MANAGER.published(live, LampStatus())
    assert said.conditions == (condition(),)
    assert MANAGER.stamped(LampStatus(), said, Stamp(1, T2)).conditions == ()


def test_an_object_without_status_has_said_nothing() -> None:
    assert MANAGER.published(lamp(), judged()) == LampStatus()


def test_a_status_is_applied_in_full_with_the_version_that_was_judged() -> None:
    transport = ScriptedTransport(lambda _request: ok(wire()))
    status = LampStatus(observed_generation=1, conditions=(condition(),))
    run(MANAGER.write(Client(transport, manager="x"), lamp(version=41), status))
    (request,) = transport.sent
    assert request.path.endswith("/lamps/a/status")
    assert request.query["fieldManager"] == "lamps"
    assert body(request)["metadata"]["resourceVersion"] == "41"
    assert body(request)["status"] == json.loads(json.dumps(to_wire(status)))


def test_a_list_of_which_nothing_is_said_is_left_out() -> None:
    """So that a status that is taken back wholly leaves nothing of ours behind, not even an empty list."""
    listed = replace_mode(MANAGER, entries=Entries("watts", identity=lambda one: one))
    assert listed.stamped(judged(None), LampStatus(), Stamp(1, T1)).watts is None


# ---- by entry


class Entry(Wire, frozen=True, kw_only=True):
    controller: str
    parent: str
    conditions: tuple[Condition, ...] = ()


class RouteStatus(Wire, frozen=True, kw_only=True):
    parents: tuple[Entry, ...] | None = None


class Route(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("test.seamark.dev", "v1", "Route", "routes")

    status: RouteStatus | None = None


def mine(entry: Entry) -> bool:
    return entry.controller == "us"


def parent(entry: Entry) -> Hashable:
    return entry.parent


ENTRIES = ByEntry(entries=Entries("parents", identity=parent), ours=mine, conditions=(READY,))


def route(*entries: Entry, status: bool = True) -> Route:
    metadata = ObjectMeta(name="r", namespace="ns", resource_version="7", generation=1)
    return Route(metadata=metadata, status=RouteStatus(parents=entries) if status else None)


def entry(parent: str, controller: str = "us", *conditions: Condition) -> Entry:
    return Entry(controller=controller, parent=parent, conditions=conditions)


def after(operations: list[dict[str, Any]], document: dict[str, Any]) -> dict[str, Any]:
    """RFC 6902, as far as it is used here, and as strict as the API server."""
    document = copy.deepcopy(document)
    for operation in operations:
        *way, last = operation["path"].strip("/").split("/")
        place: Any = document
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        match operation["op"], place:
            case "add", list():
                place.insert(len(place) if last == "-" else int(last), operation["value"])
            case "add", dict():
                place[last] = operation["value"]
            case "replace", list():
                place[int(last)] = operation["value"]
            case "remove", list():
                del place[int(last)]
            case unexpected:
                raise AssertionError(unexpected)
    return document


def written(obj: Route, wanted: tuple[Entry, ...], document: dict[str, Any] | None = None) -> list[Any]:
    if document is None:
        document = json.loads(msgspec.json.encode(obj))
    result = after(json.loads(msgspec.json.encode(ENTRIES.operations(obj, wanted))), document)
    parents: list[Any] = result["status"]["parents"]
    return parents


def test_the_first_entry_makes_the_list_and_the_status_where_there_is_none() -> None:
    assert written(route(status=False), (entry("g"),)) == [to_wire(entry("g"))]


def test_the_first_entry_makes_the_list_in_a_status_without_one() -> None:
    obj = Route(metadata=ObjectMeta(name="r"), status=RouteStatus())
    assert written(obj, (entry("g"),), {"status": {"other": 1}}) == [to_wire(entry("g"))]


def test_the_first_entry_comes_into_an_empty_list() -> None:
    assert written(route(), (entry("g"),), {"status": {"parents": []}}) == [to_wire(entry("g"))]
    assert written(route(), (entry("g"),), {"status": {}}) == [to_wire(entry("g"))]


def test_foreign_entries_stay_raw_in_place_and_in_order() -> None:
    foreign = {"controller": "them", "parent": "g", "future": {"field": [1]}, "conditions": []}
    raw = {"status": {"parents": [foreign, to_wire(entry("a")), foreign, to_wire(entry("b")), foreign]}}
    obj = msgspec.convert({"metadata": {"name": "r"}, **raw}, Route)
    changed = entry("b", "us", condition())
    wired = json.loads(json.dumps(to_wire(changed)))
    assert written(obj, (changed, entry("c")), raw) == [foreign, foreign, wired, foreign, to_wire(entry("c"))]


def test_an_entry_of_ours_that_stands_twice_is_made_one() -> None:
    assert written(route(entry("a"), entry("a")), (entry("a"),)) == [to_wire(entry("a"))]


def test_an_entry_that_says_the_same_is_not_sent() -> None:
    assert ENTRIES.operations(route(entry("a"), entry("b")), (entry("a"), entry("b"))) == []


def test_conditions_of_others_inside_our_entry_stay_when_it_changes_and_are_no_reason_to_write() -> None:
    theirs = condition("example.com/Audited")
    obj = route(entry("a", "us", theirs, condition(status="False")), entry("b", "us", theirs, condition()))
    wanted = (entry("a", "us", condition()), entry("b", "us", condition()))
    assert ENTRIES.published(obj, RouteStatus()) == RouteStatus(
        parents=(entry("a", "us", condition(status="False")), entry("b", "us", condition()))
    )
    [operation] = ENTRIES.operations(obj, wanted)
    assert operation["path"] == "/status/parents/0"
    changed = entry("a", "us", condition(), theirs)
    assert written(obj, wanted) == json.loads(json.dumps([to_wire(changed), to_wire(obj.status.parents[1])]))  # type: ignore[union-attr, index]


def test_an_entry_that_is_no_longer_ours_to_write_goes_with_everything_in_it() -> None:
    assert written(route(entry("a", "us", condition("example.com/Audited"), condition())), ()) == []


def test_no_entry_gets_more_conditions_than_the_api_server_takes() -> None:
    others = [condition(f"example.com/{number}") for number in range(8)]
    [changed] = written(route(entry("a", "us", *others)), (entry("a", "us", condition()),))
    assert [each["type"] for each in changed["conditions"]] == ["Ready", *(one.type for one in others[:7])]


def test_a_change_of_a_foreign_condition_in_our_entry_is_not_a_competing_write() -> None:
    before = ENTRIES.fingerprint(route(entry("a", "us", condition())))
    assert ENTRIES.fingerprint(route(entry("a", "us", condition(), condition("example.com/Audited")))) == before
    assert ENTRIES.fingerprint(route(entry("a", "us", condition(status="False")))) != before


def test_only_our_entries_are_what_we_have_said_in_the_order_in_which_they_stand() -> None:
    obj = route(entry("b"), entry("x", "them"), entry("a"))
    judgement = RouteStatus(parents=(entry("a"), entry("b"), entry("c")))
    said = ENTRIES.published(obj, judgement)
    assert said == RouteStatus(parents=(entry("b"), entry("a")))
    stamped = ENTRIES.stamped(judgement, said, Stamp(1, T1))
    assert [e.parent for e in stamped.parents] == ["b", "a", "c"]


def test_each_entry_has_transition_times_of_its_own() -> None:
    obj = route(entry("a", "us", condition(time=T1)), entry("b", "us", condition(status="False", time=T1)))
    judgement = RouteStatus(parents=tuple(entry(name, "us", READY.true("Good")) for name in "ab"))
    stamped = ENTRIES.stamped(judgement, ENTRIES.published(obj, judgement), Stamp(1, T2))
    assert [e.conditions[0].last_transition_time for e in stamped.parents] == [T1, T2]
    assert len(ENTRIES.condition_map(stamped)) == 2


def test_the_patch_tests_the_version_that_was_judged() -> None:
    transport = ScriptedTransport(lambda _request: ok({"metadata": {"name": "r", "namespace": "ns"}}))
    run(ENTRIES.write(Client(transport, manager="x"), route(), RouteStatus(parents=(entry("a"),))))
    test, *_ = body(transport.sent[0])
    assert test == {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}


LIVE = st.lists(
    st.builds(
        entry,
        st.sampled_from("abc"),
        st.sampled_from(["us", "them"]),
        st.builds(condition, status=st.sampled_from(["True", "False"])),
    ),
    max_size=6,
)
WANTED = st.lists(
    st.builds(entry, st.sampled_from("abc"), st.just("us"), st.builds(condition)),
    max_size=3,
    unique_by=lambda e: e.parent,
)


@given(live=LIVE, wanted=WANTED)
def test_whatever_stood_there_foreign_entries_stay_and_ours_are_as_wanted(
    live: list[Entry], wanted: list[Entry]
) -> None:
    obj = route(*live)
    parents = [msgspec.convert(raw, Entry) for raw in written(obj, tuple(wanted))]
    assert [e for e in parents if not mine(e)] == [e for e in live if not mine(e)]
    ours = [e for e in parents if mine(e)]
    assert sorted(ours, key=lambda e: e.parent) == sorted(wanted, key=lambda e: e.parent)
    assert ENTRIES.operations(route(*parents), tuple(wanted)) == [] or not parents
