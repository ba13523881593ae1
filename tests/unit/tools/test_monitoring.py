"""Alerts and the dashboard ask for metrics that there are, with labels that they have, and each alert has a page."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from tools.chart import CHART
from tools.reference import FOLDER
from tools.setup import ROOT

GROUPS = yaml.safe_load((CHART / "monitoring" / "alerts.yaml").read_text())["groups"]
ALERTS = [rule for group in GROUPS for rule in group["rules"]]
PANELS = json.loads((CHART / "monitoring" / "dashboard.json").read_text())["panels"]
EXPRESSIONS = [rule["expr"] for rule in ALERTS] + [one["expr"] for panel in PANELS for one in panel.get("targets", ())]
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
EVERYWHERE = {"namespace", "pod", "le", "job", "instance"}


def known() -> dict[str, set[str]]:
    """Every time series with its labels, from the reference, which is made from the code."""
    found: dict[str, set[str]] = {}
    for line in (FOLDER / "metrics.md").read_text().splitlines():
        if row := re.match(r"\| `(\w+)` \| (\w+) \| ([^|]*) \|", line):
            name, kind, labels = row.groups()
            own = {label.strip() for label in labels.split(",") if label.strip()}
            found |= {name + suffix: own for suffix in SUFFIXES.get(kind, ("",))}
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_metric_that_is_asked_for_exists_with_its_labels(expression: str) -> None:
    series = known()
    names = set(re.findall(r"\bseamark_\w+", expression))
    assert names
    assert names <= set(series)
    grouped = {label.strip() for labels in re.findall(r"by \(([^)]*)\)", expression) for label in labels.split(",")}
    selected = set(re.findall(r"(\w+)(?:=~|!=|=)\"", expression))
    have = set.union(*(series[name] for name in names))
    assert (grouped | selected) <= have | EVERYWHERE


def test_alerts_have_names_of_their_own_a_severity_and_a_page() -> None:
    names = [rule["alert"] for rule in ALERTS]
    assert len(names) == len(set(names))
    page = (ROOT / "docs" / "operations.md").read_text()
    for rule in ALERTS:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]
        path, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert (ROOT / path).exists()
        assert anchor == rule["alert"].lower()
        assert f"### {rule['alert']}\n" in page


def test_panels_do_not_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
