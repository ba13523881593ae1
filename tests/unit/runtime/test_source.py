"""Sources: facts with a shelf life, reports of many writers, and informers."""

from __future__ import annotations

from random import Random
from typing import Any

from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.client import Client
from seamark_runtime.errors import Gone, Refused, Retry
from seamark_runtime.source import SYNCED, Absent, Collection, Facts, Fresh, Informer, NotYet, Source, Stale
from seamark_runtime.watch import Watch, number
from seamark_runtime.watchevents import Broken, Event, Progress, Put, Removed, Restarted, Synced, Trouble
from tests.unit.runtime.scripted import Lamp, ScriptedTransport, lamp

BY_COLOR = Index(Lamp, lambda obj: (obj.spec.color,), "lamps by color")
A = Key("ns", "a")


def informer(*indexes: Index[Lamp]) -> Informer[Lamp]:
    return Informer(Watch(Client(ScriptedTransport(), manager="test"), Lamp, Random(0)), (BY_COLOR, *indexes))


def told(source: Source) -> list[Any]:
    tokens: list[Any] = []
    source.subscribe(lambda _source, token: tokens.append(token))
    return tokens


def synced(*objects: Lamp, version: str = "10", indexes: tuple[Index[Lamp], ...] = ()) -> Informer[Lamp]:
    made = informer(*indexes)
    events: list[Event] = [Restarted(), *(Put(obj) for obj in objects), Synced(version)]
    for event in events:
        made.handle(event)
    return made


# ---- facts


def test_before_a_source_has_synced_an_absence_is_no_evidence() -> None:
    facts = Facts[str, int]("probes", synced=False)
    assert facts.get("a", 0) == NotYet()
    tokens = told(facts)
    facts.sync()
    facts.sync()
    assert facts.get("a", 0) == Absent()
    assert tokens == [SYNCED]


def test_a_fact_is_fresh_until_the_moment_it_expires() -> None:
    facts = Facts[str, int]("probes")
    facts.put("a", 7, expires=10)
    assert facts.get("a", 9.99) == Fresh(7, 10)
    assert facts.get("a", 10) == Stale(7)


def test_a_fact_is_told_when_it_changes_and_not_when_it_is_said_again() -> None:
    facts = Facts[str, int]("probes")
    tokens = told(facts)
    facts.put("a", 1)
    facts.put("a", 1)
    facts.put("a", 2)
    facts.remove("a")
    facts.remove("a")
    assert tokens == ["a", "a", "a"]


# ---- collections

G, G1, G2 = Key("ns", "g"), Key("ns", "g1"), Key("ns", "g2")  # writers


def test_a_writer_replaces_all_it_said_and_only_differences_are_told() -> None:
    reports = Collection[str, str]("translation")
    reports.publish(G1, {"r1": "fine", "r2": "fine"})
    reports.publish(G2, {"r1": "broken"})
    assert reports.entries("r1") == {G1: "fine", G2: "broken"}
    tokens = told(reports)
    reports.publish(G1, {"r1": "fine", "r3": "new"})
    assert tokens == ["r2", "r3"]
    assert reports.entries("r2") == {}
    reports.publish(G1, {})
    assert reports.entries("r1") == {G2: "broken"}
    assert tokens == ["r2", "r3", "r1", "r3"]


# ---- informers


def test_an_informer_is_synced_by_a_complete_list_and_says_so_once() -> None:
    made = informer()
    tokens = told(made)
    made.handle(Restarted())
    made.handle(Put(lamp("a")))
    assert not made.synced
    made.handle(Synced("10"))
    assert made.synced
    made.handle(Restarted())
    made.handle(Put(lamp("a")))
    made.handle(Synced("11"))
    assert tokens.count(SYNCED) == 1


def test_a_change_is_told_for_the_key_and_for_the_index_values_before_and_after() -> None:
    made = synced(lamp("a", color="red"))
    tokens = told(made)
    made.handle(Put(lamp("a", version=11, color="green")))
    assert tokens == [A, (BY_COLOR, "red"), (BY_COLOR, "green")]


def test_what_vanished_during_an_interruption_is_told_when_the_list_is_complete() -> None:
    made = synced(lamp("a"), lamp("b"))
    tokens = told(made)
    made.handle(Restarted())
    made.handle(Put(lamp("b")))
    assert A not in tokens
    made.handle(Synced("20"))
    assert A in tokens
    assert made.cache.get(A) is None


def test_an_object_that_a_new_list_shows_unchanged_wakes_nobody() -> None:
    made = synced(lamp("a", version=5))
    tokens = told(made)
    made.handle(Restarted())
    made.handle(Put(lamp("a", version=5)))
    made.handle(Synced("20"))
    assert tokens == []


def test_versions_inside_a_list_are_no_progress() -> None:
    made = synced(version="10")
    made.handle(Put(lamp("a", version=15)))
    assert made.revision == 15
    made.handle(Progress("17"))
    assert made.revision == 17
    made.handle(Restarted())
    made.handle(Put(lamp("a", version=30)))
    assert made.revision == 17
    made.handle(Synced("40"))
    assert made.revision == 40


def test_a_cluster_restored_to_its_past_takes_the_revision_back() -> None:
    made = synced(version="100")
    made.handle(Restarted())
    made.handle(Synced("40"))
    assert made.revision == 40


def test_an_unreadable_object_is_named_and_forgotten_until_it_can_be_read() -> None:
    made = synced(lamp("a"))
    broken = Broken(A, "uid-a", "11", "spec.color: expected str")
    made.handle(broken)
    assert made.broken == {A: broken}
    assert made.cache.get(A) is None
    made.handle(Put(lamp("a", version=12)))
    assert made.broken == {}


def test_an_unreadable_object_that_is_deleted_is_not_counted_for_ever() -> None:
    made = synced()
    made.handle(Broken(A, "uid-a", "11", "no"))
    made.handle(Removed(lamp("a", version=12)))
    assert made.broken == {}


def test_an_unreadable_object_that_a_new_list_does_not_show_is_not_counted_for_ever() -> None:
    made = synced()
    made.handle(Broken(A, "uid-a", "11", "no"))
    made.handle(Restarted())
    made.handle(Synced("20"))
    assert made.broken == {}


def test_trouble_is_told_in_words_that_say_what_to_do_and_ends_with_the_next_word_from_the_server() -> None:
    made = synced()
    made.handle(Trouble(Gone("not found")))
    assert made.trouble is not None
    assert "install its CRD" in made.trouble
    made.handle(Trouble(Refused("lamps is forbidden", code=403)))
    assert made.trouble == "not allowed to follow lamps.test.seamark.dev: lamps is forbidden"
    made.handle(Trouble(Retry("cut")))
    assert made.trouble == "can't follow lamps.test.seamark.dev right now: cut"
    made.handle(Progress("11"))
    assert made.trouble is None


def test_a_version_that_is_no_number_is_older_than_all() -> None:
    assert number("12") == 12
    assert number("") == number("abc") == 0


def test_a_writer_can_amend_what_it_said_and_only_that_is_told() -> None:
    reports = Collection[str, str]("translation")
    reports.publish(G, {"a": "fine", "b": "fine", "c": "fine"})
    heard: list[Any] = []
    reports.subscribe(lambda _source, token: heard.append(token))
    reports.amend(G, {"a": "fine", "b": "broken", "c": None, "d": "new"})
    assert heard == ["b", "c", "d"]
    assert [reports.entries(subject) for subject in "abcd"] == [{G: "fine"}, {G: "broken"}, {}, {G: "new"}]
    reports.publish(G, {"d": "new"})
    assert heard == ["b", "c", "d", "a", "b"]
    reports.amend(G, {"d": None})
    assert reports.entries("d") == {}
