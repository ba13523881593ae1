"""`make report`, on results as the tools keep them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.bench.report import Drawn, save
from tests.bench.spread import histogram
from tools.report.__main__ import main
from tools.report.drawing import Scale, powers, rounded_up, steps
from tools.report.plots import apart, thinned
from tools.report.runs import read
from tools.results import keep

RATIOS = Drawn(ratios=[1.1, 1.2, 1.15], target=1.3, ms_until_done=[5, 12, 30, 31, 200], sizes=[(200, 3.5)])


def results(folder: Path) -> Path:
    """What a bench of two families, a simulation and a soak leave behind."""
    save("core", "standard", {"result": {"n": 200, "time_vs_floor": 9.0}}, folder / "bench", drawn=RATIOS)
    save("core", "standard", {"result": {"n": 200, "time_vs_floor": 1.15}}, folder / "bench", drawn=RATIOS)
    slow = Drawn(ratios=[1.4, 1.6], target=1.3, sizes=[(200, 4.0), (1000, 4.2)], changes=[(1000, 2.0), (10_000, 2.1)])
    save("dns", "standard", {"result": {"n": 200, "time_vs_floor": 1.5}}, folder / "bench", drawn=slow)
    save("core", "restart", {"n": 10_000, "seconds": 2.3, "requests": {}}, folder / "bench")
    keep(folder / "simulation", {"tool": "simulate", "family": "core", "numbers": {"seeds": 2000, "failures": 0}})
    samples = [{"seconds": 60 * minute, "rss_mb": 100 + minute / 1000, "fault": ""} for minute in range(2000)]
    (folder / "soak.jsonl").write_text("\n".join(json.dumps(one) for one in samples) + '\n{"seconds": 10')
    return folder


def page(folder: Path) -> str:
    assert main(["--results", str(folder)]) == 0
    return (folder / "report.html").read_text()


def drawings(text: str) -> dict[str, Any]:
    """Every drawing by what it says to those who do not see it; each must be well-formed."""
    found = [ET.fromstring(one) for one in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]
    return {one.attrib["aria-label"]: one for one in found}


def marks(drawing: Any, style: str) -> list[Any]:
    return [one for one in drawing.iter() if style in one.attrib.get("class", "").split()]


def test_all_pictures_are_on_the_page(tmp_path: Path) -> None:
    found = drawings(page(results(tmp_path)))
    assert list(found) == [
        "Time of the operator against the floor, by family",
        "Latency of core: p50 30 ms, p99 200 ms",
        "Resident memory over the time of a soak",
        "Milliseconds an object by the number of objects",
        "CPU of one change by the number of records",
    ]
    against = found["Time of the operator against the floor, by family"]
    assert [one.text for one in marks(against, "name")] == ["core", "dns"]
    assert len(marks(against, "pair")) == 3 + 2
    assert [one.attrib["class"] for one in marks(against, "median")] == ["median", "median missed"]


def test_the_last_run_counts(tmp_path: Path) -> None:
    text = page(results(tmp_path))
    assert "<td>time vs floor</td><td>1.15</td>" in text
    assert "<td>9</td>" not in text
    assert "<td>core</td><td>2\u202f000</td><td>0</td>" in text


def test_nothing_is_fetched_from_elsewhere(tmp_path: Path) -> None:
    text = page(results(tmp_path))
    assert not re.search(r"https?:|src=|@import|<link|<script|url\(", text)
    assert "prefers-color-scheme: dark" in text


def test_no_results_are_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--results", str(tmp_path / "nowhere")]) == 2
    said = capsys.readouterr()
    assert said.err == "report: there are no results yet: run make bench, make simulate or make soak first\n"
    assert not said.out


def test_what_was_not_measured_says_how_it_would_be(tmp_path: Path) -> None:
    keep(tmp_path / "simulation", {"tool": "simulate", "family": "core", "numbers": {"seeds": 1}})
    text = page(tmp_path)
    assert "Not measured yet: <code>make bench</code>" in text
    assert "Not measured yet: <code>make soak</code>" in text
    assert not drawings(text)


def test_half_a_line_of_a_tool_that_was_killed_is_passed_over(tmp_path: Path) -> None:
    (soak,) = read(results(tmp_path)).memory
    assert len(soak.samples) == 2000
    assert soak.samples[0] == (0.0, 100.0)
    assert soak.samples[-1][0] == pytest.approx(1999 / 60)


def test_names_out_of_a_file_are_only_words(tmp_path: Path) -> None:
    keep(tmp_path / "simulation", {"tool": "simulate", "family": "<script>", "numbers": {"seeds": 1}})
    save("<b>", "standard", {"result": {"n": 1}}, tmp_path / "bench", drawn=RATIOS)
    text = page(tmp_path)
    assert "<script" not in text
    assert "<b>" not in text


def test_a_run_knows_its_date_and_commit(tmp_path: Path) -> None:
    (run,) = (json.loads(line) for line in keep(tmp_path, {"tool": "bench"}).read_text().splitlines())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", run["date"])
    assert re.fullmatch(r"[0-9a-f]{7,}\+?|", run["commit"])


def test_ticks_are_round_numbers() -> None:
    assert steps(0, 137, 5) == [0, 50, 100]
    assert steps(0.5, 1.6, 5) == [0.5, 1.0, 1.5]
    assert powers(3, 700) == [5, 10, 20, 50, 100, 200, 500]
    assert powers(0.01, 9000) == [0.01, 0.1, 1, 10, 100, 1000]
    assert rounded_up(137) == 150
    assert rounded_up(0) == 1


def test_a_scale_leads_from_values_to_pixels() -> None:
    assert [Scale(0, 10, 100, 200)(value) for value in (0, 5, 10)] == [100, 150, 200]
    assert [Scale(1, 100, 0, 200, logarithmic=True)(value) for value in (0, 1, 10, 100)] == [0, 0, 100, 200]


def test_labels_do_not_lie_on_each_other() -> None:
    assert apart([(50, "b"), (48, "a"), (200, "c")], least=17) == {"a": 48, "b": 65, "c": 200}


def test_a_peak_survives_the_thinning() -> None:
    samples = [(float(at), 500.0 if at == 777 else 1.0) for at in range(10_000)]
    assert len(thinned(samples)) <= 800
    assert (777.0, 500.0) in thinned(samples)


def test_a_histogram_counts_each_value_once() -> None:
    found = histogram([0, 1, 1, 1.4, 9.9, 1000])
    assert sum(count for _, count in found) == 6
    assert found[-1] == (1000, 1)
    assert (1.0, 2) in found
    assert histogram([]) == []
