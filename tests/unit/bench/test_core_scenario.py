"""The floor writes exactly what the operator writes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.sample import Greeting
from seamark.families.sample.greeting.reconcile import config_map, judge
from seamark.families.sample.greeting.state import CONFIG_MAP, Seen
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import document, to_wire
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.conditions import Stamp
from seamark_runtime.ownership import ByReference
from tests.bench.families.core import LARGE, NEW_YEAR, SCENARIO, status_of
from tests.bench.scenario import Made, Sort, Write

MADE = Made(name="x", namespace="bench", uid="u-1", resource_version="7", generation=1)


def greeting() -> Greeting:
    manifest = SCENARIO.make("bench", "x", Sort.PLAIN).body
    known = {"uid": MADE.uid, "resourceVersion": MADE.resource_version, "generation": 1}
    return msgspec.convert({**manifest, "metadata": {**manifest["metadata"], **known}}, Greeting)


def on_the_wire(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def floor() -> list[Write]:
    work = SCENARIO.work(MADE)
    writes = [next(work), work.send(Made(name="x", namespace="bench", uid="u-2", resource_version="8"))]
    with pytest.raises(StopIteration):
        work.send(MADE)
    return writes


def test_the_child_of_the_floor_is_the_child_of_the_operator() -> None:
    seen = Seen(greeting(), Results(), 60, 20)
    assert floor()[0].body == on_the_wire(document(ByReference().claim(seen.greeting, config_map(seen))))


def test_the_status_of_the_floor_is_the_status_of_the_operator() -> None:
    seen = Seen(greeting(), Results(), 60, 20)
    judged = judge(seen, Answers({CONFIG_MAP: config_map(seen)}, {}))
    conditions = Stamp(1, NEW_YEAR).on(judged.conditions, ())
    said = to_wire(msgspec.structs.replace(judged, conditions=conditions, observed_generation=1))
    assert floor()[1].body["status"] == on_the_wire(said)
    assert floor()[1].body["metadata"]["resourceVersion"] == MADE.resource_version


def test_an_object_is_done_when_it_is_ready_in_its_present_generation() -> None:
    status = floor()[1].body["status"]

    def seen_by_a_user(**metadata: Any) -> Greeting:
        manifest = {"metadata": {"name": "x", **metadata}, "spec": {"text": "hello"}, "status": status}
        return msgspec.convert(manifest, Greeting)

    assert SCENARIO.done(seen_by_a_user(generation=1))
    assert not SCENARIO.done(seen_by_a_user(generation=2))
    assert not SCENARIO.done(greeting())


@pytest.mark.parametrize("name", ["x", "object-000123"])
def test_a_large_object_has_two_kilobytes_when_it_is_done(name: str) -> None:
    manifest = SCENARIO.make("bench", name, Sort.LARGE).body
    uid, now = "0b7e9c2e-57a5-4c9c-9d3a-6d1a2f3b4c5d", "2026-01-01T00:00:00Z"
    made = {"uid": uid, "resourceVersion": "12345", "generation": 1, "creationTimestamp": now}
    status = status_of(Made(name=name, namespace="bench"))["status"]
    done = {**manifest, "metadata": {**manifest["metadata"], **made}, "status": status}
    assert len(msgspec.json.encode(done)) == pytest.approx(LARGE, abs=30)


def test_children_are_found_by_the_uid_of_their_owner() -> None:
    child = msgspec.convert(floor()[0].body, ConfigMap)
    assert list(SCENARIO.owners(child)) == ["u-1"]
