"""The page about the architecture names functions that exist, and paths that can be followed."""

from __future__ import annotations

import asyncio
import importlib
import re
import sys
from functools import reduce
from itertools import groupby
from types import CodeType, FrameType
from typing import Any

import pytest

from seamark.families.sample.family import GREETING
from seamark_runtime.delayingqueue import DelayingQueue
from seamark_runtime.source import Informer
from tests.greetings import greeting_controller
from tests.sources import ROOT
from tests.unit.runtime.small_world import SmallWorld, world

PAGE = (ROOT / "docs" / "architecture.md").read_text()
STEP = re.compile(r"^(\d+)\. `([a-z_.]+):([A-Za-z_.]+)`$", re.MULTILINE)


def paths() -> list[list[str]]:
    found: list[list[str]] = []
    for number, module, name in STEP.findall(PAGE):
        if number == "1":
            found.append([])
        assert int(number) == len(found[-1]) + 1
        found[-1].append(f"{module}:{name}")
    return found


def test_there_is_a_path_for_each_of_the_five_kinds_and_none_is_long() -> None:
    assert len(paths()) == 5
    assert all(len(path) <= 15 for path in paths())


def function(step: str) -> Any:
    module, _, name = step.partition(":")
    return reduce(getattr, name.split("."), importlib.import_module(module))


@pytest.mark.parametrize("step", sorted({step for path in paths() for step in path}))
def test_a_function_of_a_path_exists(step: str) -> None:
    assert callable(function(step))


class Calls:
    """The first call of each function, in order, and by which modules an event of an object reached the queue."""

    def __init__(self) -> None:
        self.first: dict[CodeType, None] = {}
        self.modules: list[list[str]] = []

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self.first.setdefault(frame.f_code)
            if frame.f_code is DelayingQueue.add_after.__code__:
                self._reached(frame)

    def _reached(self, frame: FrameType) -> None:
        stack, caller = [frame.f_globals["__name__"]], frame.f_back
        changed = False
        while caller is not None and caller.f_code is not Informer.handle.__code__:
            stack.append(caller.f_globals["__name__"])
            changed = changed or caller.f_code is Informer._changed.__code__
            caller = caller.f_back
        if caller is not None and changed:
            self.modules.append([name for name, _ in groupby(reversed(stack))])


def calls_of_an_event() -> Calls:
    """What runs when a Greeting is created."""
    calls = Calls()

    async def test(small: SmallWorld) -> None:
        async with small.operating(greeting_controller()):
            await asyncio.sleep(1)
            before = sys.getprofile()
            sys.setprofile(calls)
            try:
                await small.greet("hello")
                await asyncio.sleep(5)
            finally:
                sys.setprofile(before)

    world(test, GREETING)
    return calls


def test_what_all_paths_have_in_common_runs_in_that_order() -> None:
    for path in paths():
        assert path[:5] == paths()[0][:5]
        assert path[-2] == paths()[0][-2]
    common = [*paths()[0][:5], paths()[0][-2], paths()[1][-1]]
    order = list(calls_of_an_event().first)
    places = [order.index(function(step).__code__) for step in common]
    assert places == sorted(places)


def test_an_event_reaches_the_queue_in_two_hops() -> None:
    reached = calls_of_an_event().modules
    assert reached
    for modules in reached:
        assert modules == ["seamark_runtime.source", "seamark_runtime.router", "seamark_runtime.delayingqueue"]


def test_every_module_that_is_named_exists() -> None:
    table = PAGE.split("| module | contract |")[1].split("\n\n")[0]
    named = [name for row in table.splitlines()[2:] for name in re.findall(r"`([a-z]+)`", row.split("|")[1])]
    assert len(named) > 30
    for name in named:
        importlib.import_module(f"seamark_runtime.{name}")


def test_the_picture_names_modules_that_exist_and_is_readable_on_light_and_dark() -> None:
    picture = (ROOT / "docs" / "pictures" / "architecture.svg").read_text()
    assert "prefers-color-scheme: dark" in picture
    named = [name for text in re.findall(r'class="module"[^>]*>([a-z ]+)<', picture) for name in text.split()]
    assert len(named) > 8
    for name in named:
        importlib.import_module(f"seamark_runtime.{name}")
