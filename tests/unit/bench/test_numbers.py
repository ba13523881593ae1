from __future__ import annotations

import pytest

from tests.bench.host import TICK, Disturbance, Machine, disturbance
from tests.bench.spread import median, percentile, spread


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert percentile(values, 0.99) == 99
    assert percentile(values, 1.0) == 100
    assert percentile([7.0], 0.99) == 7
    assert percentile([1.0, 2.0], 0.5) == 1


def test_nothing_measured_is_no_lag() -> None:
    assert percentile([], 0.99) == 0


def test_a_spread_has_the_median_and_the_extremes() -> None:
    assert median([3.0, 1.0, 2.0]) == 2
    assert spread([1.05, 1.3, 1.21]) == "1.21 (1.05 to 1.30)"
    assert spread([4.25, 4.0], ".1f") == "4.1 (4.0 to 4.2)"


def test_the_machine_is_read_in_seconds_of_all_cores() -> None:
    stat = "cpu  100 20 30 400 50 6 7 80 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
    machine = Machine.parse(stat)
    assert machine.busy == pytest.approx(163 / TICK)  # guests are users already
    assert machine.stolen == pytest.approx(80 / TICK)
    assert machine.total == pytest.approx(693 / TICK)


def test_a_disturbance_is_what_was_neither_idle_nor_ours() -> None:
    found = disturbance(Machine(100.0, 50.0, 1.0), Machine(120.0, 65.0, 2.0), ours=10.0)
    assert found == Disturbance(stolen=0.05, others=0.25, idle=0.2)
    assert str(found) == "stolen 5.0%, other processes 25.0%, idle 20.0%"


def test_clocks_that_round_differently_give_no_negative_share() -> None:
    assert disturbance(Machine(100.0, 50.0, 0.0), Machine(110.0, 51.0, 0.0), ours=1.01).others == 0
