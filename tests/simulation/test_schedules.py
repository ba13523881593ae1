"""The schedules that run on every change: every request times every fault, then pairs and swarms."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.simulation.attack import Attack
from tests.simulation.runner import FAMILIES, simulate, undisturbed
from tests.simulation.schedules import Schedule

CHUNKS = 48
SCHEDULES = 2600
REGRESSIONS = Path(__file__).parent / "regressions.txt"


@cache
def _attack() -> Attack:
    return Attack("core")


@pytest.mark.parametrize("family", FAMILIES)
def test_without_faults_every_promise_is_kept(family: str) -> None:
    outcome = undisturbed(family)
    assert outcome.violation is None, "\n".join(outcome.story)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_whatever_happens_every_promise_is_kept(chunk: int) -> None:
    attack = _attack()
    assert len(attack.singles) < SCHEDULES
    failed = []
    for seed in range(chunk, SCHEDULES, CHUNKS):
        outcome = simulate(attack.schedule(seed))
        if outcome.violation is not None:
            failed.append(f"{outcome.schedule}: {outcome.violation}")
    assert not failed, "replay with python -m tests.simulation --replay SCHEDULE:\n" + "\n".join(failed)


def regressions() -> list[str]:
    lines = REGRESSIONS.read_text().splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("schedule", regressions())
def test_what_was_once_wrong_stays_right(schedule: str) -> None:
    outcome = simulate(Schedule.parse(schedule))
    assert outcome.violation is None, "\n".join(outcome.story)
