"""Only the declared part of a kind is followed."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from seamark.api.sample import Greeting
from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.controller import Reads
from seamark_runtime.operator import Operator, World
from seamark_runtime.scope import EVERYTHING, Scope, widest
from seamark_runtime.settings import Settings
from tests.greetings import greeting_controller
from tests.virtual_time import CLOCK, run

OURS = Scope.labelled({"b": "2", "a": "1"}, "home")


def test_a_selector_is_written_as_the_api_server_reads_it() -> None:
    assert OURS.selectors == {"labelSelector": "a=1,b=2"}
    assert EVERYTHING.selectors == {}


def test_what_is_followed_for_several_is_wide_enough_for_each() -> None:
    assert widest([OURS, OURS]) == OURS
    assert widest([OURS, EVERYTHING]) == EVERYTHING
    assert widest([OURS, Scope.labelled({"a": "1"}, "home")]) == Scope.labelled({"a": "1"}, "home")
    assert widest([OURS, Scope.labelled({"a": "1"}, "away")]) == Scope.labelled({"a": "1"})
    assert widest([Scope.labelled({"a": "1"}), Scope.labelled({"a": "2"})]) == EVERYTHING


def test_an_operator_follows_the_part_that_its_controllers_declare() -> None:
    async def test() -> None:
        narrow = replace(greeting_controller(), name="narrow", reads=Reads(scopes={ConfigMap: OURS, Greeting: OURS}))
        other = replace(greeting_controller(), name="other", reads=Reads(scopes={ConfigMap: OURS}))
        transport = EmbeddedTransport(Store(clock=CLOCK, chance=Random(1)))
        operator = Operator(World(transport, CLOCK, Random(1)), [narrow, other], Settings())
        maps, greetings = operator.informers[ConfigMap].watch, operator.informers[Greeting].watch
        assert (maps.namespace, maps.selectors) == ("home", OURS.selectors)
        assert (greetings.namespace, greetings.selectors) == ("", {})

    run(test())
