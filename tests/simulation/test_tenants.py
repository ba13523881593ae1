"""What tenants do to their own objects stops no other tenant; what is refused is reported."""

from __future__ import annotations

import pytest

from tests.simulation.runner import simulate
from tests.simulation.schedules import TENANTS, Schedule


@pytest.mark.parametrize("seed", range(10))
def test_one_tenants_object_stops_no_other_and_a_refusal_is_told(seed: int) -> None:
    outcome = simulate(Schedule(TENANTS, seed))
    assert outcome.violation is None, "\n".join([str(outcome.violation), *outcome.story])
