"""The reference pages, made from what the code declares: settings, metrics, conditions, roles.

`python -m tools.reference` writes them; a test fails when one is out of date.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry

from seamark.cli.families import FAMILIES
from seamark.families.bindings.settings import BindingsSettings
from seamark.families.dns.settings import DnsSettings
from seamark.families.gateway.settings import GatewaySettings
from seamark.families.loadbalancer.settings import LoadBalancerSettings
from seamark.families.score.settings import ScoreSettings
from seamark_edge.agent.metrics import AgentMetrics
from seamark_edge.edge.metrics import EdgeMetrics
from seamark_edge.edge.settings import PREFIX, EdgeSettings
from seamark_edge.forwarder.metrics import ForwarderMetrics
from seamark_edge.forwarder.settings import ForwarderSettings
from seamark_runtime.controller import Controller
from seamark_runtime.loopwatch import LoopWatch
from seamark_runtime.metrics import Metrics
from seamark_runtime.rbac import grants, rules
from seamark_runtime.settings import Field, Settings, declared

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
MEANINGS = Path(__file__).parent.parent / "packages" / "operator" / "src" / "seamark" / "explain" / "meanings.json"
FAMILY_SETTINGS: dict[str, tuple[str, type[msgspec.Struct]]] = {
    "bindings": ("SEAMARK_BINDINGS_SETTINGS", BindingsSettings),
    "dns": ("SEAMARK_DNS_SETTINGS", DnsSettings),
    "gateway": ("SEAMARK_GATEWAY_SETTINGS", GatewaySettings),
    "loadbalancer": ("SEAMARK_LB_SETTINGS", LoadBalancerSettings),
    "score": ("SEAMARK_SCORE_SETTINGS", ScoreSettings),
}
MADE = "<!-- Made by `python -m tools.reference` from what the code declares. -->"


def pages() -> dict[str, str]:
    made = {
        "settings": settings("", "run", declared(Settings)),
        "edge-settings": settings(" of the edge", "edge", declared(EdgeSettings, PREFIX)),
        "forwarder-settings": settings(" of the forwarder", "forwarder", declared(ForwarderSettings)),
        "family-settings": family_settings(),
        "metrics": metrics(),
        "conditions": conditions(),
        "roles": roles(),
    }
    return {f"{name}.md": f"{MADE}\n\n{text}" for name, text in made.items()}


def meanings() -> str:
    """What each reason of each condition means, for `seamark explain`."""
    known: dict[str, dict[str, dict[str, str]]] = {}
    for family in FAMILIES.values():
        for one in family.controllers():
            if isinstance(one, Controller):
                said = {condition.name: dict(condition.reasons) for condition in one.status.conditions}
                known.setdefault(one.kind.RESOURCE.kind, {}).update(said)
    return json.dumps(known, indent=1, sort_keys=True) + "\n"


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def settings(whose: str, command: str, fields: Iterable[Field]) -> str:
    rows = ((f"`{f.flag}`", f"`{f.variable}`", default(f), f.description) for f in fields)
    intro = (
        "A file of them (`--settings`) has the same names; flags win over the environment. A setting that was renamed\n"
        "is accepted under its former name for one version, with a warning."
    )
    shown = table(("flag", "variable", "default", "meaning"), rows)
    return f"# Settings{whose}\n\nOf `seamark {command}`. {intro}\n\n{shown}"


def default(field: Field) -> str:
    """As one would write it; empty where it is empty."""
    text = ",".join(field.default) if field.many else str(field.default)
    return f"`{text}`" if text else ""


def family_settings() -> str:
    text = "# Settings of the families\n\nOf `seamark run`, in its environment, or in a file that a variable names.\n"
    for name, (file, shape) in FAMILY_SETTINGS.items():
        rows = ((f"`{f.variable}`", f"`{f.name}`", default(f), f.description) for f in declared(shape))
        shown = table(("variable", "in a file", "default", "meaning"), rows)
        text += f"\n## {name}\n\nThe file: `{file}`.\n\n{shown}"
    return text


def metrics() -> str:
    heads = ("name", "type", "labels", "meaning")
    operator = table(heads, _metrics(Metrics().registry))
    edge = table(heads, _metrics(EdgeMetrics(CollectorRegistry()).registry))
    counted = CollectorRegistry()
    counted.register(AgentMetrics(lambda: (0, 0, False)))
    LoopWatch(counted)
    agent = table(heads, _metrics(counted))
    forwarder = table(heads, _metrics(ForwarderMetrics().registry))
    text = f"# Metrics\n\n{operator}\n## Of the edge\n\n{edge}\n## Of an agent\n\n{agent}"
    text += f"\n## Of a forwarder\n\n{forwarder}"
    for family in FAMILIES.values():
        own = CollectorRegistry()
        for collector in dict.fromkeys(one for controller in family.controllers() for one in controller.collectors):
            own.register(collector)
        if rows := list(_metrics(own)):
            text += f"\n## Of {family.name}\n\n{table(heads, rows)}"
    return text


def _metrics(registry: CollectorRegistry) -> Iterator[tuple[str, ...]]:
    for collector in registry._collector_to_names:  # its only list of what was declared
        for family in getattr(collector, "describe", list)():
            labels = ", ".join(getattr(collector, "_labelnames", ()))
            yield f"`{family.name}`", family.type, labels, family.documentation


def conditions() -> str:
    text = "# Conditions\n\nEvery condition type and reason.\n"
    for family in FAMILIES.values():
        for controller in family.controllers():
            if not isinstance(controller, Controller):
                continue
            text += f"\n## {controller.kind.RESOURCE.kind}\n"
            for condition in controller.status.conditions:
                rows = ((f"`{reason}`", meaning) for reason, meaning in condition.reasons.items())
                text += f"\n**{condition.name}**: {condition.meaning}.\n\n{table(('reason', 'meaning'), rows)}"
    return text


def roles() -> str:
    text = "# Roles\n\nWhat each family may do. `seamark roles` prints it as manifests.\n"
    for family in FAMILIES.values():
        found = {grant for controller in family.controllers() for grant in grants(controller)}
        rows = (
            (rule["apiGroups"][0] or "core", ", ".join(rule["resources"]), ", ".join(rule["verbs"]))
            for rule in rules(found)
        )
        text += f"\n## {family.name}\n\n{table(('group', 'resources', 'verbs'), rows)}"
    return text


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
    MEANINGS.write_text(meanings())


if __name__ == "__main__":
    main()
