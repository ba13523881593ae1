"""A collection without entries yet waits for what it has read and not found, as long as it has members."""

from __future__ import annotations

import asyncio

from seamark.api.sample import Greeting
from seamark.families.sample.family import GREETING
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.controller import CollectionController, Output, Reads, Wanted
from seamark_runtime.source import Collection
from tests.unit.runtime.small_world import SmallWorld, world

ALL = Index(ConfigMap, lambda _one: ("all",), "all of them")


def counting(reports: Collection[str, int]) -> CollectionController[int]:
    return CollectionController(
        name="counts",
        keyed={Greeting: lambda greeting: (Key("", "all"), greeting.key)},
        observe=lambda view, _key, _results: len(view.by(ALL, "all")),
        desire=lambda _seen: Wanted(),
        outputs=(Output(reports, lambda seen, _answers: {"count": seen} if seen else {}),),
        reads=Reads(kinds=(ConfigMap,), indexes=(ALL,)),
    )


def test_the_coming_of_the_only_thing_that_it_reads_wakes_it() -> None:
    reports: Collection[str, int] = Collection("counts")

    async def test(small: SmallWorld) -> None:
        async with small.operating(counting(reports)):
            await small.greet("a")
            await asyncio.sleep(1)
            assert not reports.entries("count")
            config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
            await small.ask("POST", "/api/v1/namespaces/default/configmaps", config)
            await asyncio.sleep(1)
            assert list(reports.entries("count").values()) == [1, 1]

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
