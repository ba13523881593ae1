"""The DNS family's share of every change: a part of every request times every fault, and of pairs and swarms.

All of them are run with `python -m tests.simulation --family dns --seeds 1400`.
"""

from __future__ import annotations

from functools import cache

import pytest

from tests.simulation.attack import Attack
from tests.simulation.runner import simulate

CHUNKS = 8
STRIDE = 16  # of so many single faults, one; another one on each change of the scenario's requests
BEYOND = 24  # pairs and swarms


@cache
def _attack() -> Attack:
    return Attack("dns")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_whatever_happens_the_zones_and_what_is_said_of_them_agree(chunk: int) -> None:
    attack = _attack()
    last = len(attack.singles)
    seeds = [*range(last % STRIDE, last, STRIDE), *range(last, last + BEYOND)]
    failed = []
    for seed in seeds[chunk::CHUNKS]:
        outcome = simulate(attack.schedule(seed))
        if outcome.violation is not None:
            failed.append(f"{outcome.schedule}: {outcome.violation}")
    assert not failed, "replay with python -m tests.simulation --replay SCHEDULE:\n" + "\n".join(failed)
