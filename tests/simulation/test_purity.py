"""Reconciles are pure: each function of every controller, twice, in every scenario of every family."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from seamark.providers.board.memory import MemoryBoard
from tests.greetings import greeting_controller as greetings
from tests.purity import checked
from tests.unit.operator.families.scenarios import check
from tests.unit.operator.families.test_scenarios import FAMILIES, SCENARIOS


def test_every_function_gives_the_same_twice_and_changes_nothing() -> None:
    found: list[str] = []
    for family, path in SCENARIOS:
        check(path, tuple(checked(controller, found) for controller in FAMILIES[family]()))
    assert found == []


@dataclass
class Forgetful:
    """A controller's function with hidden state."""

    calls: list[Any] = field(default_factory=list)

    def desire(self, seen: Any) -> Any:
        self.calls.append(seen)
        return len(self.calls)


def test_hidden_state_and_changing_results_are_found() -> None:
    found: list[str] = []
    impure = replace(greetings(MemoryBoard()), desire=Forgetful().desire)
    result: Any = checked(impure, found).desire("x")
    assert result == 2
    assert found == [
        "greetings: desire changes state",
        "greetings: desire returns something else the second time",
    ]
