"""A family's own metrics are served with the others."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from prometheus_client import Counter, generate_latest

from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from tests.greetings import greeting_controller
from tests.virtual_time import CLOCK, run


def test_what_a_controller_declares_is_served_once() -> None:
    async def test() -> None:
        posts = Counter("posts", "Posts on boards", registry=None)
        declared = [replace(greeting_controller(), name=name, collectors=(posts,)) for name in ("one", "two")]
        transport = EmbeddedTransport(Store(clock=CLOCK, chance=Random(1)))
        operator = Operator(World(transport, CLOCK, Random(1)), declared, Settings())
        posts.inc(3)
        assert b"\nposts_total 3.0\n" in generate_latest(operator.metrics.registry)

    run(test())
