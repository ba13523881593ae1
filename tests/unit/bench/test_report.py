from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from seamark_runtime.errors import UserError
from tests.bench.__main__ import arguments, shown
from tests.bench.counting import Requests
from tests.bench.families.bindings_run import Size, growth_missed
from tests.bench.report import Finished, Line, above, save
from tests.bench.scenario import Targets, find

GOOD = Line(
    n=1000,
    requests_per_object=2.0,
    time_vs_floor=1.125,
    cpu_ms_per_object=1.234,
    rss_mb_per_1000=8.76,
    idle_writes=0,
    loop_lag_p99_ms=12.34,
)


def test_the_last_line_reads_as_promised() -> None:
    assert GOOD.text("core") == (
        "core: n=1000 requests_per_object=2.000 time_vs_floor=1.12 cpu_ms_per_object=1.23 "
        "rss_mb_per_1000=8.8 idle_writes=0 loop_lag_p99_ms=12.3"
    )


def test_the_last_line_is_easily_taken_apart() -> None:
    family, _, rest = GOOD.text("core").partition(": ")
    values = {name: float(value) for name, value in (part.split("=") for part in rest.split())}
    assert family == "core"
    assert list(values) == re.findall(r"(\w+)=", rest)
    assert values["n"] == 1000


def test_what_is_above_its_target_is_named() -> None:
    worse = Line(
        n=10,
        requests_per_object=2.1,
        time_vs_floor=1.3,
        cpu_ms_per_object=2.5,
        rss_mb_per_1000=1,
        idle_writes=3,
        loop_lag_p99_ms=0,
    )
    assert GOOD.missed(Targets(requests_per_object=2)) == []
    assert worse.missed(Targets(requests_per_object=2)) == [
        "requests_per_object is 2.1, above its target of 2",
        "cpu_ms_per_object is 2.5, above its target of 2",
        "idle_writes is 3, above its target of 0",
    ]


def test_a_missed_bar_is_the_exit_code_and_stands_above_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(Finished("core: n=10", ("idle_writes is 3, above its target of 0",))) == 1
    assert capsys.readouterr().out == "missed: idle_writes is 3, above its target of 0\ncore: n=10\n"
    assert shown(Finished("core: n=10")) == 0


def size(n: int, seconds: float, cpu: float) -> Size:
    """The floor's time doubles, and a bit more: the API server gets slower as it fills."""
    return Size(n, floor=20.0 * (n / 2500) ** 1.1, seconds=seconds, cpu=cpu, memory_mb=n / 50)


def test_bindings_that_grow_with_the_floor_and_with_their_number_miss_nothing() -> None:
    assert growth_missed(size(2500, 30.0, 10.0), size(5000, 64.0, 21.0)) == []


def test_bindings_that_grow_faster_than_their_number_are_named() -> None:
    assert growth_missed(size(2500, 30.0, 10.0), size(5000, 75.0, 27.0)) == [
        "cpu_growth_2x is 2.7, above its target of 2.1",
        "growth_2x is 2.5, above its target of 2.251",
    ]


def test_further_numbers_have_targets_of_their_own() -> None:
    assert above({"edge_calls": 1.2, "idle_edge_calls": 0}, {"edge_calls": 1.1, "idle_edge_calls": 0}) == [
        "edge_calls is 1.2, above its target of 1.1"
    ]


def test_results_of_different_runs_stand_side_by_side(tmp_path: Path) -> None:
    requests = Requests()
    requests.writes["create configmaps"] += 2
    save("core", "standard", {"result": GOOD}, tmp_path / "new")
    path = save("core", "kill", {"requests": requests}, tmp_path / "new")
    kept = json.loads(path.read_text())
    assert kept["standard"]["result"]["time_vs_floor"] == 1.125
    assert kept["kill"]["requests"]["writes"] == {"create configmaps": 2}


def test_a_family_without_a_benchmark_is_a_mistake_that_is_told() -> None:
    with pytest.raises(UserError, match=r"there is no benchmark of tea: there are .*core"):
        find("tea")


def test_a_restart_is_over_ten_thousand_unless_said_otherwise() -> None:
    assert arguments(["--restart"]).restart == 10_000
    assert arguments(["--n", "5", "--restart", "20"]).restart == 20
    assert arguments([]).restart is None
