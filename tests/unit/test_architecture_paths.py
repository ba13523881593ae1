"""The paths of the page about the architecture: each runs in the order that is written there, in a simulated world.

An object is created while everything is at rest. The calls from then on, until all is at rest again, contain the path
as a subsequence; and in every single reconcile the functions of the path, `APPLY` apart, are called for the first time
in its order. What a simulated world has a fake for is recorded at the fake.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.simulation import loop
from tests.simulation.gateway_plane import TwinPlane
from tests.simulation.loadbalancer.edge import TwinEdge
from tests.simulation.runner import SCENARIOS, rest
from tests.simulation.world import World
from tests.unit.test_architecture import function, paths


@dataclass(frozen=True)
class Traced:
    """One path in the simulation: the family, the step of its story that creates the object, and fakes by step."""

    family: str
    words: str
    fakes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


RECONCILE = "seamark_runtime.reconciler:Reconciler.reconcile"
APPLY = "seamark_runtime.apply:Applier.ensure"  # every reconcile of a path has its own; the page names one of them
TRACED = {
    "HTTPRoute": Traced(
        "gateway",
        "one that the data plane refuses",
        {"seamark_edge.dataplane.envoy.server:XdsServer.program": TwinPlane.program},
    ),
    "BoundEndpoint": Traced("bindings", "an agent comes"),
    "Service": Traced("loadbalancer", "a service", {"seamark_edge.agent.agent:Agent.hold": TwinEdge.held}),
    "Workload": Traced("score-runtime", "a workload"),
    "DNSEndpoint": Traced("dns", "a record"),
}


class Order:
    """The calls of these functions, in order: all of them, and those of each reconcile.

    A coroutine that goes on is no second call. A worker is a task, which runs one reconcile after the other.
    """

    def __init__(self, steps: Mapping[CodeType, str]) -> None:
        self._steps = steps
        self._frames: set[FrameType] = set()  # kept, so that no other frame takes the place of one
        self._current: dict[asyncio.Task[Any] | None, list[str]] = {}  # by task
        self.calls: list[str] = []
        self.reconciles: list[list[str]] = []

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event != "call" or frame.f_code not in self._steps or frame in self._frames:
            return
        self._frames.add(frame)
        step, task = self._steps[frame.f_code], asyncio.current_task()
        self.calls.append(step)
        if step == RECONCILE:
            self._current[task] = []
            self.reconciles.append(self._current[task])
        elif step not in (current := self._current.get(task, [])):
            current.append(step)


async def traced_calls(path: list[str], traced: Traced) -> Order:
    scenario = SCENARIOS[traced.family]()
    world = World(scenario, 0, ())
    world.install([crd.manifest() for crd in scenario.crds])
    world.live()
    order = Order({traced.fakes.get(step, function(step)).__code__: step for step in path})
    for step in scenario.steps():
        if step.words != traced.words:
            step.act(world)
            await rest(world)
            continue
        await asyncio.sleep(1)
        before = sys.getprofile()
        sys.setprofile(order)
        try:
            step.act(world)
            await rest(world)
        finally:
            sys.setprofile(before)
        break
    await world.end()
    return order


@pytest.mark.parametrize(("path", "kind"), list(zip(paths(), TRACED, strict=True)), ids=list(TRACED))
def test_a_path_runs_in_the_order_that_the_page_says(path: list[str], kind: str) -> None:
    order = loop.run(traced_calls(path, TRACED[kind]))
    place = 0
    for step in path:
        assert step in order.calls[place:], f"{step} does not run after what the page has before it"
        place = order.calls.index(step, place) + 1
    own = [step for step in path[path.index(RECONCILE) + 1 :] if step != APPLY]
    for reconcile in order.reconciles:
        inside = [step for step in reconcile if step in own]
        assert inside == sorted(inside, key=path.index)
