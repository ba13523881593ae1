"""The Grafana dashboard, from a table of its panels."""

from __future__ import annotations

import json
from typing import Any

Panel = tuple[str, str, str, tuple[tuple[str, str], ...]]  # title, meaning, unit, (expression, legend)

BY_KIND = 'sum by (kind) (rate({0}{{namespace=~"$namespace"}}[5m]))'
ENDED = 'sum by (outcome) (rate({0}{{namespace=~"$namespace"}}[5m]))'
P99 = 'histogram_quantile(0.99, sum by ({1}le) (rate({0}_bucket{{namespace=~"$namespace"}}[5m])))'
NOW = 'sum{1}({0}{{namespace=~"$namespace"}})'

ROWS: dict[str, tuple[Panel, ...]] = {
    "Health": (
        ("Leaders", "One for each lease", "short", ((NOW.format("seamark_leader", " "), "leaders"),)),
        (
            "Kinds that can't be followed",
            "The status of these objects becomes stale",
            "short",
            ((NOW.format("seamark_watch_interrupted", " by (kind) "), "{{kind}}"),),
        ),
        (
            "Objects that can't be decoded",
            "They are ignored",
            "short",
            ((NOW.format("seamark_unreadable_objects", " by (kind) "), "{{kind}}"),),
        ),
    ),
    "Work": (
        (
            "From a change to its status, p99",
            "What users wait for",
            "s",
            ((P99.format("seamark_event_to_status_seconds", "kind, "), "{{kind}}"),),
        ),
        ("Keys that wait", "For a worker", "short", (('seamark_queue_depth{namespace=~"$namespace"}', "{{pod}}"),)),
        ("One reconcile, p99", "Of a key", "s", ((P99.format("seamark_reconcile_seconds", "kind, "), "{{kind}}"),)),
        (
            "Reconciles by outcome",
            "Crashed is an internal error of Seamark",
            "ops",
            (
                (
                    'sum by (outcome) (rate(seamark_reconcile_outcomes_total{namespace=~"$namespace"}[5m]))',
                    "{{outcome}}",
                ),
            ),
        ),
        ("Writes to the API server", "None when idle", "ops", ((BY_KIND.format("seamark_writes_total"), "{{kind}}"),)),
        ("Event loop lag, p99", "Too little CPU", "s", ((P99.format("seamark_loop_lag_seconds", "pod, "), "{{pod}}"),)),
    ),
    "Edge, agents, forwarders": (
        (
            "Agents and endpoints at the edge",
            "Online now",
            "short",
            (
                (NOW.format("seamark_edge_agents", " "), "agents"),
                (NOW.format("seamark_edge_endpoints", " "), "endpoints"),
            ),
        ),
        (
            "Connections at the edge",
            "By outcome",
            "ops",
            ((ENDED.format("seamark_edge_connections_total"), "{{outcome}}"),),
        ),
        (
            "Traffic at the edge",
            "Between clients and endpoints",
            "Bps",
            (('sum by (direction) (rate(seamark_edge_bytes_total{namespace=~"$namespace"}[5m]))', "{{direction}}"),),
        ),
        (
            "Endpoints that agents hold",
            "Or that the edge refused",
            "short",
            ((NOW.format("seamark_agent_tunnels", " by (state) "), "{{state}}"),),
        ),
        (
            "Connections of Pods",
            "Through forwarders",
            "ops",
            ((ENDED.format("seamark_forwarder_connections_total"), "{{outcome}}"),),
        ),
        (
            "DNS records",
            "Refused by the name server, or pending",
            "short",
            (
                (NOW.format("seamark_dns_refused_records", " "), "refused"),
                (NOW.format("seamark_dns_pending_changes", " "), "pending"),
            ),
        ),
    ),
}


def dashboard() -> str:
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in ROWS.items():
        panels.append(_at(0, top, 24, 1) | {"type": "row", "title": title, "collapsed": False, "panels": []})
        top += 1
        for number, panel in enumerate(row):
            panels.append(_panel(panel) | _at(8 * (number % 3), top + 8 * (number // 3), 8, 8))
        top += 8 * (1 + (len(row) - 1) // 3)
    for number, made in enumerate(panels, 1):
        made["id"] = number
    return json.dumps(_frame(panels), indent=2) + "\n"


def _panel(panel: Panel) -> dict[str, Any]:
    title, meaning, unit, questions = panel
    return {
        "type": "timeseries",
        "title": title,
        "description": meaning,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(65 + number), "expr": expression, "legendFormat": legend}
            for number, (expression, legend) in enumerate(questions)
        ],
    }


def _at(x: int, y: int, width: int, height: int) -> dict[str, Any]:
    return {"gridPos": {"x": x, "y": y, "w": width, "h": height}}


def _frame(panels: list[dict[str, Any]]) -> dict[str, Any]:
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}
    namespace = {
        "name": "namespace",
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": "label_values(seamark_leader, namespace)",
        "multi": True,
        "includeAll": True,
        "refresh": 2,
    }
    return {
        "uid": "seamark",
        "title": "Seamark",
        "tags": ["seamark"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [source, namespace]},
        "panels": panels,
    }
