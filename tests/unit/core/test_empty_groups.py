"""A group that has nothing to say yet still waits for what it has looked for in vain."""

from __future__ import annotations

import asyncio

from seamark.api.core import ConfigMap
from seamark.api.meta import Key
from seamark.api.sample import Greeting
from seamark.core.cache import Index
from seamark.core.controller import Group, Wanted
from seamark.core.source import Reports
from seamark.families.sample.family import GREETING
from tests.unit.core.small_world import SmallWorld, world

ALL = Index(ConfigMap, lambda _one: ("all",), "all of them")


def test_the_coming_of_the_only_thing_that_it_reads_wakes_it() -> None:
    reports: Reports[int] = Reports("counts")
    group: Group[int] = Group(
        name="counts",
        keyed={Greeting: lambda _greeting: (Key("", "all"),)},
        reads=(ConfigMap,),
        indexes=(ALL,),
        observe=lambda view, _key, _results: len(view.by(ALL, "all")),
        desire=lambda _seen: Wanted(),
        report=lambda seen, _answers: {"count": seen} if seen else {},
        reports=reports,
    )

    async def test(small: SmallWorld) -> None:
        async with small.operating(group):
            await small.greet("a")
            await asyncio.sleep(1)
            assert not reports.about("count")
            config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
            await small.ask("POST", "/api/v1/namespaces/default/configmaps", config)
            await asyncio.sleep(1)
            assert list(reports.about("count").values()) == [1]

    world(test, GREETING)
