"""Read your own writes."""

from __future__ import annotations

from msgspec.structs import replace

from seamark_runtime.api.meta import Key
from seamark_runtime.expectations import Expectations
from seamark_runtime.request import Request
from seamark_runtime.source import Informer
from seamark_runtime.watchevents import Progress, Put, Removed, Restarted, Synced
from tests.unit.runtime.scripted import Lamp, lamp
from tests.unit.runtime.test_source import A, synced

ITEM, OTHER = Request("lamps", A), Request("lamps", Key("ns", "other"))


def expecting(informer: Informer[Lamp], bound: float = 10.0) -> tuple[Expectations, list[Request]]:
    woken: list[Request] = []
    expectations = Expectations(woken.append, bound)
    expectations.attach(informer)
    return expectations, woken


def test_a_key_without_writes_is_not_parked() -> None:
    expectations, _ = expecting(synced())
    assert not expectations.park(ITEM)


def test_a_parked_key_is_woken_once_when_the_cache_shows_its_write() -> None:
    lamps = synced(version="10")
    expectations, woken = expecting(lamps)
    expectations.written(ITEM, lamps, A, "12", now=0)
    assert expectations.park(ITEM)
    lamps.handle(Put(lamp("b", version=11)))
    assert woken == []
    lamps.handle(Put(lamp("a", version=12)))
    assert woken == [ITEM]
    assert not expectations.park(ITEM)


def test_a_key_that_nobody_asked_for_meanwhile_is_not_woken() -> None:
    lamps = synced(version="10")
    expectations, woken = expecting(lamps)
    expectations.written(ITEM, lamps, A, "12", now=0)
    lamps.handle(Put(lamp("a", version=12)))
    assert woken == []


def test_a_write_that_the_cache_has_already_shown_is_not_waited_for() -> None:
    lamps = synced(version="10")
    expectations, _ = expecting(lamps)
    expectations.written(ITEM, lamps, A, "9", now=0)
    assert not expectations.park(ITEM)


def test_a_bookmark_meets_a_write() -> None:
    lamps = synced(version="10")
    expectations, woken = expecting(lamps)
    expectations.written(ITEM, lamps, A, "12", now=0)
    expectations.park(ITEM)
    lamps.handle(Progress("12"))
    assert woken == [ITEM]


def test_a_list_begun_before_the_write_does_not_meet_it_but_one_begun_after_does() -> None:
    lamps = synced(version="10")
    expectations, woken = expecting(lamps)
    lamps.handle(Restarted())
    expectations.written(ITEM, lamps, A, "50", now=0)
    expectations.park(ITEM)
    lamps.handle(Synced("40"))
    assert woken == []
    lamps.handle(Restarted())
    lamps.handle(Synced("30"))  # restored to its past: the version will never come
    assert woken == [ITEM]


def test_all_of_its_writes_have_to_be_seen() -> None:
    lamps = synced(version="10")
    expectations, woken = expecting(lamps)
    expectations.written(ITEM, lamps, A, "12", now=0)
    expectations.written(ITEM, lamps, A, "14", now=0)
    expectations.park(ITEM)
    lamps.handle(Progress("13"))
    assert woken == []
    lamps.handle(Progress("14"))
    assert woken == [ITEM]


def test_keys_wait_only_for_their_own_writes() -> None:
    lamps = synced(version="10")
    expectations, woken = expecting(lamps)
    expectations.written(ITEM, lamps, A, "12", now=0)
    expectations.written(OTHER, lamps, OTHER.key, "20", now=0)
    expectations.park(ITEM)
    expectations.park(OTHER)
    lamps.handle(Progress("12"))
    assert woken == [ITEM]


def test_a_deletion_is_seen_when_that_very_object_is_gone() -> None:
    lamps = synced(lamp("a", uid="u1"))
    expectations, woken = expecting(lamps)
    expectations.deleted(ITEM, lamps, A, "u1", now=0)
    assert expectations.park(ITEM)
    lamps.handle(Put(lamp("a", version=11, uid="u1")))  # an older event
    assert woken == []
    lamps.handle(Removed(lamp("a", version=12, uid="u1")))
    assert woken == [ITEM]


def test_a_deletion_that_waits_for_somebody_elses_finalizer_is_seen_when_it_began() -> None:
    before = lamp("a", uid="u1")
    lamps = synced(before)
    expectations, woken = expecting(lamps)
    expectations.deleted(ITEM, lamps, A, "u1", now=0)
    expectations.park(ITEM)
    going = replace(before.metadata, deletion_timestamp="2026-01-01T00:00:00Z", resource_version="12")
    lamps.handle(Put(replace(before, metadata=going)))
    assert woken == [ITEM]


def test_a_successor_of_the_same_name_also_shows_that_the_old_object_is_gone() -> None:
    lamps = synced(lamp("a", uid="u1"))
    expectations, woken = expecting(lamps)
    expectations.deleted(ITEM, lamps, A, "u1", now=0)
    expectations.park(ITEM)
    lamps.handle(Put(lamp("a", version=12, uid="u2")))
    assert woken == [ITEM]


def test_after_its_bound_a_write_is_overdue_and_a_live_read_can_release_it() -> None:
    lamps = synced(version="10")
    expectations, woken = expecting(lamps, bound=10)
    expectations.written(ITEM, lamps, A, "12", now=100)
    expectations.park(ITEM)
    assert expectations.patience(ITEM, now=103) == 7
    assert expectations.overdue(ITEM, now=109) == []
    (late,) = expectations.overdue(ITEM, now=110)
    expectations.extend(late, now=110)
    assert expectations.overdue(ITEM, now=111) == []
    expectations.release(late)
    assert woken == [ITEM]
    lamps.handle(Progress("12"))
    assert woken == [ITEM]


def test_a_forgotten_key_is_never_woken() -> None:
    lamps = synced(version="10")
    expectations, woken = expecting(lamps)
    expectations.written(ITEM, lamps, A, "12", now=0)
    expectations.park(ITEM)
    expectations.forget(ITEM)
    lamps.handle(Progress("12"))
    assert woken == []
    assert not expectations.park(ITEM)
