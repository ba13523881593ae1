"""Every scenario of every family."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from seamark.families.bindings.family import controllers as bindings
from seamark.families.bindings.model.options import Options
from seamark.families.loadbalancer.family import controllers as loadbalancer
from seamark.families.loadbalancer.model.options import Options as LoadBalancerOptions
from seamark.families.sample.family import controllers as sample
from seamark.families.sample.model.options import Options as SampleOptions
from seamark.families.score.family import controllers as score
from seamark.families.score.model.options import Options as ScoreOptions
from seamark.providers.board.memory import MemoryBoard
from seamark.providers.edge.memory import MemoryCalls, memory_edge
from seamark.providers.edge.ngrok import CAPABILITIES as NGROK
from seamark.providers.edge.remote import RemoteEdge
from seamark_runtime.controller import Declaration
from seamark_runtime.resolver import Resolver
from tests.unit.operator.families.dns.given import dns, names
from tests.unit.operator.families.gateway.given import gateway, gateway_fronts, gateway_pods
from tests.unit.operator.families.scenarios import check, files

HERE = Path(__file__).parent
SCORE_PARTS = ("registrar", "mirror", "orchestrator", "provisioner")


def score_controller(name: str) -> tuple[Declaration, ...]:
    """The controller of this name alone."""
    return tuple(controller for controller in score(ScoreOptions(), Resolver()) if controller.name == name)


FAMILIES: dict[str, Callable[[], tuple[Declaration, ...]]] = {
    "sample/greeting": lambda: sample(SampleOptions(), MemoryBoard()),
    "gateway/httproute": gateway,
    "gateway/gateway": gateway,
    "gateway/pods": gateway_pods,
    "gateway/fronts": gateway_fronts,
    "dns/dnsendpoint": dns,
    "dns/names": names,
    **{
        f"loadbalancer/{kind}": lambda: loadbalancer(LoadBalancerOptions(), memory_edge(reachable=True))
        for kind in ("service", "agentendpoint", "cloudendpoint", "domain", "trafficpolicy")
    },
    "loadbalancer/trafficpolicy-at-ngrok": lambda: loadbalancer(
        LoadBalancerOptions(), RemoteEdge(MemoryCalls(), NGROK)
    ),
    "bindings/boundendpoint": lambda: bindings(Options(), memory_edge(reachable=True))[:2],
    **{f"score/{part}": partial(score_controller, f"score-{part}") for part in SCORE_PARTS},
}
SCENARIOS = [(family, path) for family in FAMILIES for path in files(HERE / family / "scenarios")]


@pytest.mark.parametrize(("family", "path"), SCENARIOS, ids=[f"{family}: {path.stem}" for family, path in SCENARIOS])
def test_scenario(family: str, path: Path) -> None:
    check(path, FAMILIES[family]())
