"""What is shown of a Service with an address, and what `seamark status` counts (docs/guides/explain.md)."""

from __future__ import annotations

from typing import Any

import pytest

from seamark.explain import kinds
from seamark.explain.assess import assess, conditions_of
from seamark.explain.leadership import Leadership
from seamark.explain.model import Hop, Truth
from seamark.explain.reader import Reader
from seamark.explain.show import conclusion, plain
from seamark.explain.summary import Summary, summarise
from seamark_runtime.api.meta import Key
from tests.unit.operator.explain.chain import Chain, condition
from tests.virtual_time import run

REACHABLE, ASSIGNED = "k8s.ngrok.com/Reachable", "k8s.ngrok.com/AddressAssigned"
SPEC = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": [{"port": 80, "protocol": "TCP"}]}
ADDRESS = {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}


def service(*conditions: dict[str, Any], address: bool = True) -> dict[str, Any]:
    return {"spec": SPEC, "status": {**(ADDRESS if address else {}), "conditions": list(conditions)}}


def judged(raw: dict[str, Any]) -> tuple[Truth, str]:
    return assess(kinds.SERVICE, raw, conditions_of(raw))


@pytest.mark.parametrize(
    ("raw", "truth", "message"),
    {
        "all is well": (service(condition(REACHABLE), condition(ASSIGNED)), Truth.TRUE, ""),
        "an address of another controller": (service(), Truth.TRUE, ""),
        "only Reachable is False": (
            service(condition(ASSIGNED), condition(REACHABLE, "False", "NoAgent", "No agent is connected")),
            Truth.FALSE,
            f"{REACHABLE}=False NoAgent: No agent is connected",
        ),
        "two are False": (
            service(condition(ASSIGNED, "False", "A", "a"), condition(REACHABLE, "False", "B", "b")),
            Truth.FALSE,
            f"{REACHABLE}=False B: b",
        ),
        "False is worse than Unknown": (
            service(condition(ASSIGNED, "False", "A", "a"), condition(REACHABLE, "Unknown", "B", "b")),
            Truth.FALSE,
            f"{ASSIGNED}=False A: a",
        ),
        "not known": (
            service(condition(ASSIGNED), condition(REACHABLE, "Unknown", "NotVerified", "The edge is silent")),
            Truth.UNKNOWN,
            f"{REACHABLE}=Unknown NotVerified: The edge is silent",
        ),
        "a condition of another controller": (
            service(condition(REACHABLE), condition("LoadBalancerPortsError", "False")),
            Truth.TRUE,
            "",
        ),
        "no address": (
            service(condition(ASSIGNED, "False", "NoAgent", "No agent"), address=False),
            Truth.FALSE,
            "it has no address yet: No agent",
        ),
    }.values(),
)
def test_a_service_with_an_address_is_as_its_conditions_are(raw: dict[str, Any], truth: Truth, message: str) -> None:
    assert judged(raw) == (truth, message)


def summary(*prepared: tuple[Any, str, dict[str, Any], dict[str, Any]], install: bool = True) -> Summary:
    async def program() -> Summary:
        chain = Chain()
        if install:
            await chain.install(kinds.AGENT_ENDPOINT, kinds.KGATEWAY_POLICY)
        for kind, name, status, spec in prepared:
            await chain.make(kind, name, status, spec=spec)
        return await summarise(Reader(chain.transport))

    return run(program())


def test_services_with_an_address_of_the_edge_and_policies_are_counted() -> None:
    unreachable = condition(REACHABLE, "False", "NoAgent", "No agent is connected")
    plain_spec = {"ports": [{"port": 80, "protocol": "TCP"}]}
    parent = {"ancestorRef": {"name": "front"}, "controllerName": "a/b"}
    refused = {"ancestors": [{**parent, "conditions": [condition("Accepted", "False", "TargetNotFound", "no route")]}]}
    found = summary(
        (kinds.SERVICE, "web", {**ADDRESS, "conditions": [unreachable]}, SPEC),
        (kinds.SERVICE, "new", {}, SPEC),
        (kinds.SERVICE, "inside", {}, plain_spec),
        (kinds.SERVICE, "theirs", {}, {**SPEC, "loadBalancerClass": "example.com/other"}),
        (kinds.KGATEWAY_POLICY, "limits", refused, {}),
    )
    counted = {(row.family, row.resource.kind): dict(row.counts) for row in found.rows}
    assert counted == {
        ("loadbalancer", "Service"): {Truth.FALSE: 2},
        ("gateway", "TrafficPolicy"): {Truth.FALSE: 1},
    }
    messages = {str(problem.key): problem.message for problem in found.problems}
    assert messages == {
        "default/web": f"{REACHABLE}=False NoAgent: No agent is connected",
        "default/new": "it has no address yet",
        "default/limits": "Accepted=False (Gateway front) TargetNotFound: no route",
    }


def test_services_alone_are_no_installation_of_ours() -> None:
    found = summary((kinds.SERVICE, "web", {}, SPEC), install=False)
    assert not found.installed


def test_nothing_is_called_whole_while_it_is_not_known_whether_an_operator_leads() -> None:
    hop = Hop(kinds.GREETING, Key("default", "hello"))
    unknown = Leadership(unknown="you may not list Leases").unknown
    text = "No status shows a problem. Whether an operator keeps them up to date is not known."
    assert str(conclusion(hop, None, unknown)) == text
    hidden = Hop(kinds.GREETING, Key("default", "hello"), hops=(Hop(kinds.SECRET, Key("a", "b"), truth=Truth.HIDDEN),))
    assert "in what you may read (1 hidden)" in str(conclusion(hidden, None, unknown))
    assert plain(hop)["broken"] is None
