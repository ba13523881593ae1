"""The page about the architecture names functions that exist, and paths that can be followed."""

from __future__ import annotations

import importlib
import re
from functools import reduce

import pytest

from tests.sources import ROOT

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


@pytest.mark.parametrize("step", sorted({step for path in paths() for step in path}))
def test_a_function_of_a_path_exists(step: str) -> None:
    module, _, name = step.partition(":")
    assert callable(reduce(getattr, name.split("."), importlib.import_module(module)))


def test_every_module_that_is_named_exists() -> None:
    table = PAGE.split("| module | contract |")[1].split("\n\n")[0]
    named = [name for row in table.splitlines()[2:] for name in re.findall(r"`([a-z]+)`", row.split("|")[1])]
    assert len(named) > 30
    for name in named:
        importlib.import_module(f"seamark_runtime.{name}")
