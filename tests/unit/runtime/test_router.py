"""Who is woken by what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace as replace_declared
from typing import Any

import pytest
from msgspec.structs import replace

from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.client import Client
from seamark_runtime.controller import CollectionController, Controller, Declaration, Output, Reads, Wanted
from seamark_runtime.request import Request
from seamark_runtime.router import EventRouter
from seamark_runtime.source import Collection, Facts, Informer
from seamark_runtime.status import ByManager
from seamark_runtime.view import View
from seamark_runtime.watch import Watch
from seamark_runtime.watchevents import Put, Removed, Restarted, Synced
from tests.unit.runtime.scripted import Lamp, ScriptedTransport, TopOfTheRange, lamp

A = Key("ns", "a")
ITEM = Request("lamps", A)


def lamps_controller(**more: Any) -> Controller[Any]:
    return Controller(
        name="lamps",
        kind=Lamp,
        observe=lambda _view, obj, _results: obj,
        desire=lambda _seen: Wanted(),
        judge=lambda _seen, _answers: None,
        status=ByManager(manager="lamps", conditions=()),
        **more,
    )


def by_color(obj: Lamp) -> Iterable[Key]:
    return (Key("", obj.spec.color),) if obj.spec.color else ()


def colors_group(reports: Collection[str, str]) -> CollectionController[Any]:
    return CollectionController(
        name="colors",
        desire=lambda _seen: Wanted(),
        keyed={Lamp: by_color},
        observe=lambda _view, _key, _results: None,
        outputs=(Output(reports, lambda _seen, _answers: {}),),
    )


class Woken:
    """A waker over informers that the test feeds."""

    def __init__(self, *controllers: Declaration) -> None:
        self.items: list[Request] = []
        client = Client(ScriptedTransport(), manager="test")
        self.lamps: Informer[Lamp] = Informer(Watch(client, Lamp, TopOfTheRange()))
        self.maps: Informer[ConfigMap] = Informer(Watch(client, ConfigMap, TopOfTheRange()))
        self.router = EventRouter(controllers, {Lamp: self.lamps, ConfigMap: self.maps}, (), self._enqueue, lambda: 0.0)

    def _enqueue(self, request: Request, _delay: float) -> None:
        self.items.append(request)

    def sync(self, informer: Informer[Any], *objects: Any) -> None:
        informer.handle(Restarted())
        for obj in objects:
            informer.handle(Put(obj))
        informer.handle(Synced("100"))

    def take(self) -> list[Request]:
        taken, self.items[:] = list(self.items), []
        return taken


def config_map(name: str, version: int = 101) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns", uid="m", resource_version=str(version)))


def test_two_controllers_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="several controllers are called lamps"):
        Woken(lamps_controller(), lamps_controller())


def test_no_key_before_all_sources_have_synced_then_all_of_them_once() -> None:
    facts = Facts[str, int]("probes", synced=False)
    woken = Woken(lamps_controller(reads=Reads(kinds=(ConfigMap,), sources=(facts,))))
    woken.router.start()
    woken.sync(woken.lamps, lamp("a"), lamp("b"))
    woken.lamps.handle(Put(lamp("a", version=101)))
    assert woken.items == []
    assert woken.router.missing() == {"lamps": ["configmaps", "probes"]}
    woken.sync(woken.maps)
    assert not woken.router.all_started
    facts.sync()
    assert woken.router.all_started
    assert woken.take() == [ITEM, Request("lamps", Key("ns", "b"))]


def test_nothing_is_woken_before_the_start_and_after_the_stop() -> None:
    woken = Woken(lamps_controller())
    woken.sync(woken.lamps, lamp("a"))
    assert woken.items == []
    woken.router.start()
    assert woken.take() == [ITEM]
    woken.router.stop()
    woken.lamps.handle(Put(lamp("a", version=102)))
    assert woken.items == []
    woken.router.start()  # leading again: everything is looked at anew
    assert woken.take() == [ITEM]


def test_in_a_new_term_the_reports_of_an_earlier_one_are_not_synced_until_every_key_had_its_turn() -> None:
    reports: Collection[str, str] = Collection("colors")
    woken = Woken(colors_group(reports), lamps_controller(reads=Reads(sources=(reports,))))
    woken.sync(woken.lamps, lamp("a", color="red"))
    woken.router.start()
    red = Request("colors", Key("", "red"))
    assert woken.take() == [red]
    woken.router.reconcile_ended(red)
    assert woken.take() == [ITEM]
    woken.router.stop()
    woken.router.start()
    assert not reports.synced
    assert woken.take() == [red], "who judges from the reports waits for them"
    woken.router.reconcile_ended(red)
    assert woken.take() == [ITEM]


def test_a_key_that_went_while_another_led_has_a_turn_in_the_next_term() -> None:
    reports: Collection[str, str] = Collection("colors")
    woken = Woken(colors_group(reports))
    woken.sync(woken.lamps, lamp("a", color="red"))
    woken.router.start()
    (red,) = woken.take()
    woken.router.reads.record(red, [(woken.lamps, A)])
    woken.router.reconcile_ended(red)
    woken.router.stop()
    woken.lamps.handle(Removed(lamp("a", version=101, color="red")))
    woken.router.start()
    assert woken.take() == [red], "so that its reports are taken back"


def test_a_change_of_the_object_itself_wakes_its_key() -> None:
    woken = Woken(lamps_controller())
    woken.sync(woken.lamps)
    woken.router.start()
    woken.lamps.handle(Put(lamp("a", version=101)))
    woken.lamps.handle(Removed(lamp("a", version=102)))
    assert woken.take() == [ITEM, ITEM]


def test_an_echo_of_our_own_status_write_wakes_nobody_but_the_next_version_does() -> None:
    woken = Woken(lamps_controller())
    woken.sync(woken.lamps, lamp("a"))
    woken.router.start()
    woken.take()
    woken.router.reads.record(ITEM, [(woken.lamps, A)])
    woken.router.status_written(ITEM, "105")
    woken.lamps.handle(Put(lamp("a", version=105)))
    assert woken.items == []
    woken.lamps.handle(Put(lamp("a", version=106)))
    assert woken.take() == [ITEM]


def test_a_write_of_ours_that_the_next_pass_has_not_seen_is_news() -> None:
    woken = Woken(lamps_controller())
    woken.sync(woken.lamps, lamp("a"))
    woken.router.start()
    woken.take()
    woken.router.status_written(ITEM, "105")
    woken.router.reconcile_starts(ITEM)
    woken.lamps.handle(Put(lamp("a", version=105)))
    assert woken.take() == [ITEM]


def test_what_a_key_has_read_wakes_it_and_nothing_else_does() -> None:
    woken = Woken(lamps_controller(reads=Reads(kinds=(ConfigMap,))))
    woken.sync(woken.lamps, lamp("a"))
    woken.sync(woken.maps)
    woken.router.start()
    woken.take()
    view = View({Lamp: woken.lamps, ConfigMap: woken.maps}, now=0)
    view.get(ConfigMap, Key("ns", "mine"))  # not there yet
    woken.router.reads.record(ITEM, view.reads)
    woken.maps.handle(Put(config_map("other")))
    assert woken.items == []
    woken.maps.handle(Put(config_map("mine")))
    assert woken.take() == [ITEM]
    woken.router.forget(ITEM)
    woken.maps.handle(Put(config_map("mine", 103)))
    assert woken.items == []


def test_an_object_wakes_the_groups_that_it_belonged_to_and_belongs_to() -> None:
    woken = Woken(colors_group(Collection("colors")))
    woken.sync(woken.lamps, lamp("a", color="red"))
    woken.router.start()
    assert woken.take() == [Request("colors", Key("", "red"))]
    changed = lamp("a", version=101, color="green")
    woken.lamps.handle(Put(replace(changed, metadata=replace(changed.metadata, generation=2))))
    assert woken.take() == [Request("colors", Key("", "red")), Request("colors", Key("", "green"))]


def test_a_groups_reports_are_synced_when_every_key_of_the_first_round_has_had_its_pass() -> None:
    reports = Collection[str, str]("colors")
    woken = Woken(colors_group(reports), lamps_controller(reads=Reads(sources=(reports,))))
    woken.sync(woken.lamps, lamp("a", color="red"), lamp("b", color="green"))
    woken.router.start()
    red, green = woken.take()
    assert {red.controller, green.controller} == {"colors"}  # the lamps wait for the reports about them
    woken.router.reconcile_ended(red)
    assert not reports.synced
    woken.router.reconcile_ended(green)
    assert reports.synced
    assert [request.controller for request in woken.take()] == ["lamps", "lamps"]


def test_a_group_without_any_key_has_nothing_to_report() -> None:
    reports = Collection[str, str]("colors")
    woken = Woken(colors_group(reports), lamps_controller(reads=Reads(sources=(reports,))))
    woken.sync(woken.lamps, lamp("a"))
    woken.router.start()
    assert reports.synced
    assert woken.take() == [ITEM]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_key_of_a_controller_that_is_not_open_is_not_woken(wanted: bool) -> None:
    woken = Woken(lamps_controller())
    if wanted:
        woken.sync(woken.lamps)
        woken.router.start()
    woken.router.enqueue(ITEM)
    assert (woken.items == [ITEM]) is wanted


def test_a_key_that_is_always_there_has_a_pass_without_any_object() -> None:
    reports = Collection[str, str]("colors")
    woken = Woken(replace_declared(colors_group(reports), always=(Key("", "red"),)))
    woken.router.start()
    woken.sync(woken.lamps)
    assert woken.take() == [Request("colors", Key("", "red"))]
    assert not reports.synced
    woken.router.reconcile_ended(Request("colors", Key("", "red")))
    assert reports.synced
