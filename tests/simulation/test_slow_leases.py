"""The arithmetic of `core.leader`, tried: slow reads and slow writes on both sides, and never two leaders."""

from __future__ import annotations

import pytest

from tests.simulation.runner import simulate
from tests.simulation.schedules import LEASES, Schedule

SCHEDULES = 160
CHUNKS = 8


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_however_slow_the_requests_are_nobody_leads_while_another_may_write(chunk: int) -> None:
    outcomes = [simulate(Schedule(LEASES, seed)) for seed in range(chunk, SCHEDULES, CHUNKS)]
    failed = [f"{outcome.schedule}: {outcome.violation}" for outcome in outcomes if outcome.violation is not None]
    assert not failed, "replay with python -m tests.simulation --replay SCHEDULE:\n" + "\n".join(failed)
    terms = sum(line.endswith("leads") for outcome in outcomes for line in outcome.story)
    assert terms > 3 * len(outcomes), "the lease changes hands"
