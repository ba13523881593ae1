"""A key waits while a cache that its controller reads is stale, and is queued when it has caught up."""

from __future__ import annotations

from random import Random

import pytest

from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Key
from seamark_runtime.client import Client
from seamark_runtime.errors import Refused, Retry, SeamarkError
from seamark_runtime.request import Request
from seamark_runtime.source import Informer
from seamark_runtime.stalecaches import StaleCaches
from seamark_runtime.watch import Watch
from seamark_runtime.watchevents import Progress, Restarted, Synced, Trouble
from tests.unit.runtime.scripted import ScriptedTransport

ITEM, OTHER = Request("lamps", Key("default", "a")), Request("others", Key("default", "a"))
SILENT = Trouble(Retry("no byte for long"), silent=True)


class Scene:
    def __init__(self) -> None:
        client = Client(ScriptedTransport(), manager="test")
        self.informer = Informer(Watch(client, ConfigMap, Random(1)))
        self.woken: list[Request] = []
        self.behind = StaleCaches({"lamps": [self.informer], "others": []}, self.woken.append)
        for event in (Restarted(), Synced("5")):
            self.informer.handle(event)


def test_it_waits_from_the_silence_to_the_end_of_the_next_list() -> None:
    scene = Scene()
    assert not scene.behind.park(ITEM)
    scene.informer.handle(SILENT)
    assert scene.behind.park(ITEM)
    scene.informer.handle(Restarted())
    assert scene.behind.park(ITEM), "a list that is not whole yet shows less than there is"
    assert scene.woken == []
    scene.informer.handle(Synced("9"))
    assert scene.woken == [ITEM]
    assert not scene.behind.park(ITEM)


def test_who_reads_other_kinds_goes_on() -> None:
    scene = Scene()
    scene.informer.handle(SILENT)
    assert not scene.behind.park(OTHER)


@pytest.mark.parametrize(
    "error", [Retry("connection refused"), Refused("not allowed", code=403)], ids=["short trouble", "a refusal"]
)
def test_trouble_that_is_short_or_has_an_answer_stops_nobody(error: SeamarkError) -> None:
    scene = Scene()
    scene.informer.handle(Trouble(error))
    assert not scene.behind.park(ITEM)


def test_a_refusal_after_a_silence_lets_it_go_on() -> None:
    scene = Scene()
    scene.informer.handle(SILENT)
    assert scene.behind.park(ITEM)
    scene.informer.handle(Trouble(Refused("not allowed", code=403), silent=True))
    assert scene.woken == [ITEM]


def test_progress_of_a_watch_that_is_well_wakes_nobody() -> None:
    scene = Scene()
    scene.informer.handle(Progress("6"))
    assert scene.woken == []
