"""Every scenario of every family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from seamark.families.bindings.controller import Means
from seamark.families.bindings.controller import controllers as bindings
from seamark.families.bindings.state import Settings
from seamark.families.loadbalancer.controllers import controllers as loadbalancer
from seamark.families.sample.board import MemoryBoard
from seamark.families.sample.controller import controller as greetings
from seamark.families.score.mirror.controller import controller as mirror
from seamark.families.score.orchestrator.controller import controller as orchestrator
from seamark.families.score.provisioner.controller import controller as provisioner
from seamark.families.score.registrar.controller import controller as registrar
from seamark.providers.edge.memory import MemoryCalls, memory_edge
from seamark.providers.edge.ngrok import CAPABILITIES as NGROK
from seamark.providers.edge.remote import RemoteEdge
from seamark_runtime.controller import Declaration
from tests.unit.families.dns.given import dns, names
from tests.unit.families.gateway.given import gateway, gateway_fronts, gateway_pods
from tests.unit.families.scenarios import check, files

HERE = Path(__file__).parent
FAMILIES: dict[str, Callable[[], tuple[Declaration, ...]]] = {
    "sample/greeting": lambda: (greetings(MemoryBoard()),),
    "gateway/httproute": gateway,
    "gateway/gateway": gateway,
    "gateway/pods": gateway_pods,
    "gateway/fronts": gateway_fronts,
    "dns/dnsendpoint": dns,
    "dns/names": names,
    **{
        f"loadbalancer/{kind}": lambda: loadbalancer(memory_edge())
        for kind in ("service", "agentendpoint", "cloudendpoint", "domain", "trafficpolicy")
    },
    "loadbalancer/trafficpolicy-at-ngrok": lambda: loadbalancer(RemoteEdge(MemoryCalls(), NGROK)),
    "bindings/boundendpoint": lambda: bindings(Settings(), Means(memory_edge()))[:2],
    "score/registrar": lambda: (registrar(),),
    "score/mirror": lambda: (mirror(),),
    "score/orchestrator": lambda: (orchestrator(),),
    "score/provisioner": lambda: (provisioner(),),
}
SCENARIOS = [(family, path) for family in FAMILIES for path in files(HERE / family / "scenarios")]


@pytest.mark.parametrize(("family", "path"), SCENARIOS, ids=[f"{family}: {path.stem}" for family, path in SCENARIOS])
def test_scenario(family: str, path: Path) -> None:
    check(path, FAMILIES[family]())
