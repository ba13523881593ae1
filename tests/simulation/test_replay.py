"""A seed is a schedule: the same one gives the same writes, to the byte."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.attack import Attack
from tests.simulation.faults import ALONE, parse
from tests.simulation.runner import FAMILIES, simulate, undisturbed
from tests.simulation.schedules import Schedule, simpler, swarm
from tests.sources import PYTHONPATH

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join(filter(None, [str(ROOT), PYTHONPATH, os.environ.get("PYTHONPATH", "")]))
DIGEST = """
import hashlib, sys
from tests.simulation.runner import set_up, simulate
from tests.simulation.schedules import Schedule
set_up()
for word in sys.argv[1:]:
    print(hashlib.sha256(simulate(Schedule.parse(word)).log).hexdigest())
"""


QUICK = ("sample", "unverified", "election")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_seed_replays_to_the_byte(family: str) -> None:
    attack = Attack(family)
    first = len(attack.singles)
    many = 15 if family in QUICK else 3
    for seed in (*range(0, first, max(1, first // many)), *range(first, first + many)):
        schedule = attack.schedule(seed)
        one, other = simulate(schedule), simulate(Schedule.parse(str(schedule)))
        assert one.log, schedule
        assert one.log == other.log, schedule
        assert one.story == other.story, schedule


def test_a_seed_replays_in_another_process() -> None:
    words = ["sample/7/hasty/3:CRASH_AFTER,9:GONE", "sample/8/calm/12:RESTORE", "election/0/calm/3:PAUSE"]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": PATHS}
    runs = [
        subprocess.run(
            [sys.executable, "-c", DIGEST, *words],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert len(set(runs[0].split())) == len(words)
    if os.environ.get("PYTHONHASHSEED") == "0":
        here = [hashlib.sha256(simulate(Schedule.parse(word)).log).hexdigest() for word in words]
        assert runs[0].split() == here


def test_another_seed_is_another_schedule() -> None:
    attack = Attack("sample")
    first = len(attack.singles)
    assert len({str(attack.schedule(seed)) for seed in range(first, first + 200)}) == 200


def test_every_pair_of_faults_has_its_turn_on_a_small_scenario() -> None:
    attack = Attack("core")
    first = len(attack.singles)
    seeds = range(first, first + 2 * len(attack.pairs) + 2)
    assert {str(pair) for pair in attack.pairs} <= {str(attack.schedule(seed)) for seed in seeds}


def test_every_swarm_has_a_subset_of_faults_of_its_own() -> None:
    subsets = {frozenset(one.fault_name for one in swarm("sample", seed, 40).plan) for seed in range(300)}
    assert len(subsets) > 150
    assert set().union(*subsets) == {fault.name for fault in ALONE}


def test_without_faults_the_seed_matters() -> None:
    assert undisturbed("sample").log != simulate(Schedule("sample", 5, hasty=True)).log


def test_a_printed_schedule_can_be_read_again() -> None:
    schedule = Schedule("sample", 7, parse("12:CRASH_AFTER,30:GONE"), hasty=True)
    assert Schedule.parse(str(schedule)) == schedule
    assert {len(smaller.plan) for smaller in simpler(schedule)} == {1, 2}


@pytest.mark.parametrize("words", ["x", "sample/1/calm", "sample/x/calm/", "sample/1/slow/", "sample/1/calm/0:GONE"])
def test_what_is_no_schedule_is_told_so(words: str) -> None:
    with pytest.raises(ValueError, match="should read like"):
        Schedule.parse(words)
