"""Every condition of every kind has its row in the table "What True means" of its specification page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from seamark.cli.families import FAMILIES
from seamark_runtime.controller import Controller

SPEC = Path(__file__).parents[2] / "docs" / "spec"
HEADS = ["condition", "client, from where", "succeeds while it is True", "not claimed", "shelf life"]
TITLE = "What True means"


@dataclass(frozen=True)
class Place:
    """Where the conditions of a kind are: the page, and what is before their names where a page has several kinds."""

    page: str
    prefix: str = ""


PLACES = {
    "Greeting": Place("sample/greeting"),
    "DNSEndpoint": Place("dns/dnsendpoint"),
    "Service": Place("loadbalancer/service"),
    "AgentEndpoint": Place("loadbalancer/agentendpoint"),
    "CloudEndpoint": Place("loadbalancer/cloudendpoint"),
    "Domain": Place("loadbalancer/domain"),
    "NgrokTrafficPolicy": Place("loadbalancer/trafficpolicy"),
    "BoundEndpoint": Place("bindings/boundendpoint"),
    "KubernetesOperator": Place("bindings/kubernetesoperator"),
    "Workload": Place("score/workload"),
    "WorkloadExposure": Place("score/runtime"),
    "WorkloadPlan": Place("score/runtime", "WorkloadPlan"),
    "GatewayClass": Place("gateway/gateway", "GatewayClass"),
    "Gateway": Place("gateway/gateway", "Gateway"),
    "ListenerSet": Place("gateway/gateway", "ListenerSet"),
    "HTTPRoute": Place("gateway/routes"),
    "GRPCRoute": Place("gateway/routes"),
    "TLSRoute": Place("gateway/routes"),
    "TCPRoute": Place("gateway/routes"),
    "TrafficPolicy": Place("gateway/policies"),
    "BackendTLSPolicy": Place("gateway/policies", "BackendTLSPolicy"),
}


def declared() -> dict[str, list[str]]:
    """The names of the conditions of each kind, in the order of their declaration."""
    found: dict[str, dict[str, None]] = {}
    for family in FAMILIES.values():
        for controller in family.controllers():
            if isinstance(controller, Controller) and controller.status.conditions:
                names = dict.fromkeys(condition.name for condition in controller.status.conditions)
                found.setdefault(controller.kind.RESOURCE.kind, {}).update(names)
    return {kind: list(names) for kind, names in found.items()}


def rows(page: str) -> list[list[str]]:
    """The table of the page: its heads first."""
    _, _, section = (SPEC / f"{page}.md").read_text().partition(f"# {TITLE}\n")
    lines = section.lstrip("\n").splitlines()
    end = next((number for number, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]


def named(cell: str, prefix: str) -> list[str]:
    """The conditions that a first cell names, if it is about this kind."""
    text = cell.replace("`", "").partition(" (")[0]
    if prefix:
        return text[len(prefix) :].strip().split(", ") if text.startswith(f"{prefix} ") else []
    return text.split(", ")


@pytest.mark.parametrize("kind", list(declared()))
def test_a_page_states_what_every_condition_claims(kind: str) -> None:
    place = PLACES[kind]
    heads, _, *table = rows(place.page)
    assert heads == HEADS
    for name in declared()[kind]:
        about = [row for row in table if name in named(row[0], place.prefix)]
        assert about, f"{place.page}.md has no row for {name} of {kind}"
        for row in about:
            assert len(row) == len(HEADS)
            assert all(row[:3]), f"{place.page}.md leaves out what {name} claims, or to which client"
            assert row[4], f"{place.page}.md leaves out for how long {name} is valid"


def test_a_page_names_no_condition_that_is_not_declared() -> None:
    known = {name for names in declared().values() for name in names} | {"Conflicted"}
    for page in {place.page for place in PLACES.values()}:
        for cell, *_ in rows(page)[2:]:
            words = set(cell.replace("`", "").partition(" (")[0].replace(",", "").split())
            assert words & known, f"{page}.md: {cell}"
            assert not words - known - {"listener", *PLACES}, f"{page}.md: {cell}"
