"""What the checks of policies and rules let through, a real Envoy takes; what Envoy would refuse, they name."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.kgateway import TrafficPolicy, served
from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark.families.gateway.rules.policyparts import parts_of
from seamark.families.gateway.rules.trafficpolicies import read_policy
from seamark.families.gateway.translation.snapshot import with_policy
from seamark.families.gateway.translation.trafficpolicies import applied
from seamark_edge.dataplane.model import Cluster, Endpoints, Entry, Forward, Match, RouteTable, VirtualHost
from seamark_edge.dataplane.model import Target as To
from seamark_edge.dataplane.protocol import Served
from seamark_runtime.api.meta import Key, ObjectMeta
from tests.gateway.bad_fields import edges, policies, rules
from tests.gateway.filter_edges import filter_edges
from tests.gateway.test_envoy import ORIGIN, Scene, with_envoy
from tests.unit.operator.families.gateway.test_limits import compiled

BAD: dict[str, dict[str, Any]] = dict(policies())


def problem(spec: dict[str, Any]) -> str:
    policy = TrafficPolicy(metadata=ObjectMeta(name="policy", namespace="default"), spec=spec)
    return read_policy(policy).problem


def test_there_are_three_hundred_bad_fields_at_least() -> None:
    assert len(BAD) >= 300


def test_every_bad_field_is_named_and_shown_in_one_short_line() -> None:
    for name, spec in BAD.items():
        [field] = spec
        message = problem(spec)
        assert field in message, (name, message)
        assert len(message) < 400, name
        assert message.isprintable(), name


def entry_of(spec: dict[str, Any]) -> Entry:
    view = TrafficPolicyView(Key("default", "policy"), "", (), (), tuple(parts_of(served(spec)).items()))
    return with_policy(Entry(Match("/"), Forward((To("one"),)), ORIGIN), applied([view], {}), frozenset())


def refused_by_envoy(given: list[Entry]) -> list[str]:
    """Those of these entries that Envoy refuses, each with its error."""
    found: list[str] = []

    async def test(scene: Scene) -> None:
        for entry in given:
            snapshot = scene.snapshot(("/", "one"))
            table = RouteTable("http", (VirtualHost(("*",), (entry,)),))
            backends = {"one", *(target.cluster for target in getattr(entry.action, "targets", ()))}
            snapshot.tables["http"] = table  # type: ignore[index]
            for name in backends:
                snapshot.clusters[name] = Cluster(name)  # type: ignore[index]
                snapshot.endpoints[name] = Endpoints(name)  # type: ignore[index]
            outcome = await scene.program(snapshot)
            if not isinstance(outcome, Served):
                found.append(f"{repr(entry)[:200]}: {outcome}")

    with_envoy(test)
    return found


def test_envoy_takes_every_policy_at_the_limits() -> None:
    assert refused_by_envoy([entry_of(spec) for spec in (*edges(), *filter_edges())]) == []


def test_envoy_takes_every_rule_at_the_limits() -> None:
    entries: list[Entry] = []
    for rule in rules():
        made = compiled(rule)
        assert made.broken == [], rule
        [first, *_] = made.rules
        entries += first.entries
    assert refused_by_envoy(entries) == []


@pytest.mark.parametrize("name", ["Host", ":path", "a b"])
def test_what_took_a_gateway_down_before_is_refused_by_its_field(name: str) -> None:
    message = problem({"headerModifiers": {"request": {"set": [{"name": name, "value": "x"}]}}})
    assert message.startswith("headerModifiers.request.set[0].name: ")


def test_a_policy_that_is_no_object_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        served({"headerModifiers": "x"})
