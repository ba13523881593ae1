"""The attacks on the cost limit are stopped, and each mistake that would let one through is noticed by them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.sources import ROOT
from tests.unit.runtime.cel.attacks import MUTANTS, unstopped


def test_every_attack_is_stopped() -> None:
    assert unstopped() == []


@pytest.mark.parametrize("name", [bug.name for bug in MUTANTS.found])
def test_a_mistake_in_the_cost_limit_lets_an_attack_through(name: str) -> None:
    command = [sys.executable, "-m", "tests.unit.runtime.cel.attacks", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) > 0
