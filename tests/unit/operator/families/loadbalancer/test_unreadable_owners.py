"""What the edge has for an object that can't be read is not swept."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from seamark.families.loadbalancer.sweep.memory import exists
from seamark.families.loadbalancer.sweep.state import ADDRESS, ENDPOINT, Owned
from seamark_edge.api.ngrok import CloudEndpoint
from seamark_edge.model import Owner
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.client import Client
from seamark_runtime.source import Informer
from seamark_runtime.view import View
from seamark_runtime.watch import Watch
from seamark_runtime.watchevents import Broken, Restarted, Synced
from tests.unit.runtime.scripted import ScriptedTransport


@pytest.mark.parametrize(("what", "kind"), [(ADDRESS, Service), (ENDPOINT, CloudEndpoint)], ids=["address", "endpoint"])
def test_an_object_that_can_not_be_read_exists(what: str, kind: type[Service] | type[CloudEndpoint]) -> None:
    client = Client(ScriptedTransport(), manager="test")
    informers: dict[type[Object], Informer[Any]] = {kind: Informer(Watch(client, kind, Random(0)))}
    for event in (Restarted(), Broken(Key("ns", "web"), "uid-1", "5", "too deep"), Synced("10")):
        informers[kind].handle(event)
    view = View(informers, 0.0)
    assert exists(view, Owned(what, Owner("cluster", "ns", "web", "uid-1")))
    assert not exists(view, Owned(what, Owner("cluster", "ns", "web", "of another object")))
    assert not exists(view, Owned(what, Owner("cluster", "ns", "other", "uid-1")))
