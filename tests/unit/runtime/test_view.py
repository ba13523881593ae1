"""What was read decides what wakes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.request import Request
from seamark_runtime.source import Absent, Collection, Facts, Fresh, Intent, Source, Stale
from seamark_runtime.view import RecordedReads, View
from seamark_runtime.watchevents import Put
from tests.unit.runtime.scripted import Lamp, lamp
from tests.unit.runtime.test_source import BY_COLOR, A, synced

ONE, TWO = Request("lamps", Key("ns", "one")), Request("lamps", Key("ns", "two"))


def test_every_question_is_recorded_also_the_one_for_what_is_absent() -> None:
    lamps = synced(lamp("a", color="red"))
    facts, reports = Facts[str, int]("probes"), Collection[str, str]("translation")
    view = View({Lamp: lamps}, now=0)
    assert view.get(Lamp, Key("ns", "nobody")) is None
    assert [obj.key for obj in view.by(BY_COLOR, "red")] == [A]
    assert view.fact(facts, "x") == Absent()
    assert view.entries(reports, "y") == {}
    assert list(view.reads) == [(lamps, Key("ns", "nobody")), (lamps, (BY_COLOR, "red")), (facts, "x"), (reports, "y")]


def test_the_earliest_moment_at_which_a_fact_expires_is_when_to_look_again() -> None:
    facts = Facts[str, int]("probes")
    facts.put("a", 1, expires=30)
    facts.put("b", 2, expires=20)
    facts.put("old", 3, expires=1)
    view = View({}, now=5)
    assert view.requeue_at == float("inf")
    assert view.fact(facts, "a") == Fresh(1, 30)
    assert view.fact(facts, "b") == Fresh(2, 20)
    assert view.fact(facts, "old") == Stale(3)
    assert view.requeue_at == 20


def test_a_view_of_reports_does_not_change_under_its_reader() -> None:
    writer = Key("ns", "g")
    reports = Collection[str, str]("translation")
    reports.publish(writer, {"r": "fine"})
    seen = View({}, now=0).entries(reports, "r")
    reports.publish(writer, {"r": "broken"})
    assert seen == {writer: "fine"}


def test_only_those_who_have_read_it_are_readers() -> None:
    source, dependencies = Source("s"), RecordedReads()
    dependencies.record(ONE, [(source, "x"), (source, "y")])
    dependencies.record(TWO, [(source, "y")])
    assert dependencies.readers(source, "x") == [ONE]
    assert dependencies.readers(source, "y") == [ONE, TWO]
    dependencies.record(ONE, [(source, "z")])
    assert dependencies.readers(source, "x") == []
    assert dependencies.readers(source, "y") == [TWO]
    dependencies.forget(TWO)
    assert dependencies.readers(source, "y") == []


RECORDS = st.lists(
    st.tuples(st.sampled_from([ONE, TWO]), st.one_of(st.none(), st.lists(st.sampled_from("xyz"), unique=True)))
)


@given(RECORDS)
def test_both_directions_always_agree(records: list[Any]) -> None:
    source, dependencies = Source("s"), RecordedReads()
    last: dict[Request, list[str]] = {}
    for item, tokens in records:
        if tokens is None:
            dependencies.forget(item)
            last.pop(item, None)
        else:
            dependencies.record(item, [(source, token) for token in tokens])
            last[item] = tokens
        for token in "xyz":
            expected = {item for item, tokens in last.items() if token in tokens}
            assert set(dependencies.readers(source, token)) == expected


def test_who_reads_what_has_changed_is_woken_by_changes_of_intent_alone_if_it_says_so() -> None:
    index = Index(Lamp, lambda obj: (obj.spec.color,), "lamps by color", journalled=True)
    lamps = synced(lamp("a", color="red"), indexes=(index,))
    view = View({Lamp: lamps}, now=0)
    assert list(view.since(index, "red", 0).changed) == [A]
    view.since(index, "red", 0, intent=True)
    assert list(view.reads) == [(lamps, (index, "red")), (lamps, Intent((index, "red")))]
    heard: list[Any] = []
    lamps.subscribe(lambda _source, token: heard.append(token))
    lamps.handle(Put(lamp("a", color="red", version=101)))  # nothing but its version
    assert (index, "red") in heard
    assert Intent((index, "red")) not in heard
    lamps.handle(Put(lamp("a", color="red", version=102, uid="another")))
    assert Intent((index, "red")) in heard
