"""The attacks on the cost limit are stopped, and each mistake that would let one through is noticed by them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cel.attacks import MUTANTS, unstopped

ROOT = Path(__file__).parents[3]


def test_every_attack_is_stopped() -> None:
    assert unstopped() == []


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_in_the_cost_limit_lets_an_attack_through(name: str) -> None:
    command = [sys.executable, "-m", "tests.unit.cel.attacks", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) > 0
