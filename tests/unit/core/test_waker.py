"""Who is woken by what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace as replace_declared
from typing import Any

import pytest
from msgspec.structs import replace

from seamark.api.core import ConfigMap
from seamark.api.meta import Key, ObjectMeta
from seamark.core.client import Client
from seamark.core.controller import Controller, Group, Wanted
from seamark.core.queue import Item
from seamark.core.source import Facts, Informer, Reports
from seamark.core.status import ByManager
from seamark.core.view import View
from seamark.core.waker import Declaration, Waker
from seamark.core.watch import Put, Removed, Restarted, Synced, Watch
from tests.unit.core.scripted import Lamp, ScriptedTransport, TopOfTheRange, lamp

A = Key("ns", "a")
ITEM = Item("lamps", A)


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


def colors_group(reports: Reports[str]) -> Group[Any]:
    return Group(
        name="colors",
        desire=lambda _seen: Wanted(),
        keyed={Lamp: by_color},
        observe=lambda _view, _key, _results: None,
        report=lambda _seen, _answers: {},
        reports=reports,
    )


class Woken:
    """A waker over informers that the test feeds."""

    def __init__(self, *controllers: Declaration) -> None:
        self.items: list[Item] = []
        client = Client(ScriptedTransport(), manager="test")
        self.lamps: Informer[Lamp] = Informer(Watch(client, Lamp, TopOfTheRange()))
        self.maps: Informer[ConfigMap] = Informer(Watch(client, ConfigMap, TopOfTheRange()))
        self.waker = Waker(controllers, {Lamp: self.lamps, ConfigMap: self.maps}, (), self.items.append)

    def sync(self, informer: Informer[Any], *objects: Any) -> None:
        informer.handle(Restarted())
        for obj in objects:
            informer.handle(Put(obj))
        informer.handle(Synced("100"))

    def take(self) -> list[Item]:
        taken, self.items[:] = list(self.items), []
        return taken


def config_map(name: str, version: int = 101) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns", uid="m", resource_version=str(version)))


def test_two_controllers_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="several controllers are called lamps"):
        Woken(lamps_controller(), lamps_controller())


def test_no_key_before_all_sources_have_synced_then_all_of_them_once() -> None:
    facts = Facts[str, int]("probes", synced=False)
    woken = Woken(lamps_controller(reads=(ConfigMap,), sources=(facts,)))
    woken.waker.start()
    woken.sync(woken.lamps, lamp("a"), lamp("b"))
    woken.lamps.handle(Put(lamp("a", version=101)))
    assert woken.items == []
    assert woken.waker.missing() == {"lamps": ["configmaps", "probes"]}
    woken.sync(woken.maps)
    assert not woken.waker.all_open
    facts.sync()
    assert woken.waker.all_open
    assert woken.take() == [ITEM, Item("lamps", Key("ns", "b"))]


def test_nothing_is_woken_before_the_start_and_after_the_stop() -> None:
    woken = Woken(lamps_controller())
    woken.sync(woken.lamps, lamp("a"))
    assert woken.items == []
    woken.waker.start()
    assert woken.take() == [ITEM]
    woken.waker.stop()
    woken.lamps.handle(Put(lamp("a", version=102)))
    assert woken.items == []
    woken.waker.start()  # leading again: everything is looked at anew
    assert woken.take() == [ITEM]


def test_a_change_of_the_object_itself_wakes_its_key() -> None:
    woken = Woken(lamps_controller())
    woken.sync(woken.lamps)
    woken.waker.start()
    woken.lamps.handle(Put(lamp("a", version=101)))
    woken.lamps.handle(Removed(lamp("a", version=102)))
    assert woken.take() == [ITEM, ITEM]


def test_an_echo_of_our_own_status_write_wakes_nobody_but_the_next_version_does() -> None:
    woken = Woken(lamps_controller())
    woken.sync(woken.lamps, lamp("a"))
    woken.waker.start()
    woken.take()
    woken.waker.dependencies.record(ITEM, [(woken.lamps, A)])
    woken.waker.echo(ITEM, "105")
    woken.lamps.handle(Put(lamp("a", version=105)))
    assert woken.items == []
    woken.lamps.handle(Put(lamp("a", version=106)))
    assert woken.take() == [ITEM]


def test_a_write_of_ours_that_the_next_pass_has_not_seen_is_news() -> None:
    woken = Woken(lamps_controller())
    woken.sync(woken.lamps, lamp("a"))
    woken.waker.start()
    woken.take()
    woken.waker.echo(ITEM, "105")
    woken.waker.begins(ITEM)
    woken.lamps.handle(Put(lamp("a", version=105)))
    assert woken.take() == [ITEM]


def test_what_a_key_has_read_wakes_it_and_nothing_else_does() -> None:
    woken = Woken(lamps_controller(reads=(ConfigMap,)))
    woken.sync(woken.lamps, lamp("a"))
    woken.sync(woken.maps)
    woken.waker.start()
    woken.take()
    view = View({Lamp: woken.lamps, ConfigMap: woken.maps}, now=0)
    view.get(ConfigMap, Key("ns", "mine"))  # not there yet
    woken.waker.dependencies.record(ITEM, view.reads)
    woken.maps.handle(Put(config_map("other")))
    assert woken.items == []
    woken.maps.handle(Put(config_map("mine")))
    assert woken.take() == [ITEM]
    woken.waker.forget(ITEM)
    woken.maps.handle(Put(config_map("mine", 103)))
    assert woken.items == []


def test_an_object_wakes_the_groups_that_it_belonged_to_and_belongs_to() -> None:
    woken = Woken(colors_group(Reports("colors")))
    woken.sync(woken.lamps, lamp("a", color="red"))
    woken.waker.start()
    assert woken.take() == [Item("colors", Key("", "red"))]
    changed = lamp("a", version=101, color="green")
    woken.lamps.handle(Put(replace(changed, metadata=replace(changed.metadata, generation=2))))
    assert woken.take() == [Item("colors", Key("", "red")), Item("colors", Key("", "green"))]


def test_a_groups_reports_are_synced_when_every_key_of_the_first_round_has_had_its_pass() -> None:
    reports = Reports[str]("colors")
    woken = Woken(colors_group(reports), lamps_controller(sources=(reports,)))
    woken.sync(woken.lamps, lamp("a", color="red"), lamp("b", color="green"))
    woken.waker.start()
    red, green = woken.take()
    assert {red.kind, green.kind} == {"colors"}  # the lamps wait for the reports about them
    woken.waker.passed(red)
    assert not reports.synced
    woken.waker.passed(green)
    assert reports.synced
    assert [item.kind for item in woken.take()] == ["lamps", "lamps"]


def test_a_group_without_any_key_has_nothing_to_report() -> None:
    reports = Reports[str]("colors")
    woken = Woken(colors_group(reports), lamps_controller(sources=(reports,)))
    woken.sync(woken.lamps, lamp("a"))
    woken.waker.start()
    assert reports.synced
    assert woken.take() == [ITEM]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_key_of_a_controller_that_is_not_open_is_not_woken(wanted: bool) -> None:
    woken = Woken(lamps_controller())
    if wanted:
        woken.sync(woken.lamps)
        woken.waker.start()
    woken.waker.wake(ITEM)
    assert (woken.items == [ITEM]) is wanted


def test_a_key_that_is_always_there_has_a_pass_without_any_object() -> None:
    reports = Reports[str]("colors")
    woken = Woken(replace_declared(colors_group(reports), always=(Key("", "red"),)))
    woken.waker.start()
    woken.sync(woken.lamps)
    assert woken.take() == [Item("colors", Key("", "red"))]
    assert not reports.synced
    woken.waker.passed(Item("colors", Key("", "red")))
    assert reports.synced
