"""A group with nothing to say yet waits for what it has looked for in vain, as long as somebody belongs to it."""

from __future__ import annotations

import asyncio

from seamark.api.sample import Greeting
from seamark.families.sample.family import GREETING
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.controller import CollectionController, Wanted
from seamark_runtime.source import Collection
from tests.unit.core.small_world import SmallWorld, world

ALL = Index(ConfigMap, lambda _one: ("all",), "all of them")


def counting(reports: Collection[int]) -> CollectionController[int]:
    return CollectionController(
        name="counts",
        keyed={Greeting: lambda greeting: (Key("", "all"), greeting.key)},
        reads=(ConfigMap,),
        indexes=(ALL,),
        observe=lambda view, _key, _results: len(view.by(ALL, "all")),
        desire=lambda _seen: Wanted(),
        report=lambda seen, _answers: {"count": seen} if seen else {},
        reports=reports,
    )


def test_the_coming_of_the_only_thing_that_it_reads_wakes_it() -> None:
    reports: Collection[int] = Collection("counts")

    async def test(small: SmallWorld) -> None:
        async with small.operating(counting(reports)):
            await small.greet("a")
            await asyncio.sleep(1)
            assert not reports.about("count")
            config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
            await small.ask("POST", "/api/v1/namespaces/default/configmaps", config)
            await asyncio.sleep(1)
            assert list(reports.about("count").values()) == [1, 1]

    world(test, GREETING)


def test_nothing_is_remembered_of_a_key_to_which_nobody_belongs() -> None:
    async def test(small: SmallWorld) -> None:
        async with small.operating(counting(Collection("counts"))) as operator:
            known = operator.loop.router.reads
            for number in range(20):
                await small.greet(f"churn-{number}")
            await asyncio.sleep(1)
            assert len(known) == 21
            for number in range(20):
                await small.ask(
                    "DELETE", f"/apis/sample.seamark.dev/v1alpha1/namespaces/default/greetings/churn-{number}"
                )
            await asyncio.sleep(1)
            assert len(known) == 0

    world(test, GREETING)
