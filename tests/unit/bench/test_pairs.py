from __future__ import annotations

import pytest

from tests.bench.counting import Requests
from tests.bench.host import Disturbance
from tests.bench.setting import Load
from tests.bench.standard import Floor, Memory, Operated, Pair, comparable
from tests.bench.subject import Report

REPORT = Report(cpu=1, memory_mb=80, peak_mb=90, lag_p99_ms=5, lag_max_ms=9, held_max_ms=7, quiet_since=1.0, cached=2)


def load(others: float = 0.0, stolen: float = 0.0, **cpu: float) -> Load:
    return Load(cpu, Disturbance(stolen, others, idle=0.0))


def pair(floor: Load, operated: Load) -> Pair:
    return Pair(Floor(2.0, floor), Operated(2.5, operated, 1.0, Requests(), REPORT))


QUIET = pair(load(bench=1, etcd=1, api=2), load(bench=0.5, etcd=1, api=2, operator=1.5))
BUSY_FLOOR = pair(load(bench=1, others=0.2), load(bench=1))
STOLEN_FROM = pair(load(bench=1), load(bench=1, stolen=0.11))


def test_a_pair_compares_times_and_the_work_of_everybody() -> None:
    assert QUIET.ratio == 1.25
    assert QUIET.work_ratio == 1.25


def test_a_pair_is_disturbed_if_one_of_its_halves_is() -> None:
    assert [p.disturbed for p in (QUIET, BUSY_FLOOR, STOLEN_FROM)] == [False, True, True]
    assert "(disturbed)" in BUSY_FLOOR.lines()[0]
    assert "(disturbed)" not in QUIET.lines()[0]


def test_only_undisturbed_pairs_count_where_there_are_enough() -> None:
    assert comparable([QUIET, BUSY_FLOOR, QUIET, QUIET]) == [QUIET, QUIET, QUIET]


def test_all_count_where_too_few_are_undisturbed() -> None:
    assert comparable([QUIET, BUSY_FLOOR, QUIET]) == [QUIET, BUSY_FLOOR, QUIET]


def test_memory_is_what_the_caches_add_to_one_process() -> None:
    assert Memory(fresh=70, empty=75, full=79, found=76, n=500).per_1000 == pytest.approx(8)


def test_a_load_names_everybody_and_what_the_others_did() -> None:
    assert str(load(etcd=0.5, bench=1.25, others=0.5)) == (
        "CPU s: bench 1.25, etcd 0.50; stolen 0.0%, other processes 50.0%, idle 0.0%"
    )
