"""Routes are published where a Gateway serves them (docs/spec/score/runtime.md, rules 6, 7, 12 and 13)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.families.score.model.runtime import Rendered
from seamark.families.score.workloadexposure.reconcile import judge
from seamark.gatewayapi.listeners import ParentKey
from seamark_runtime.api.core import Service
from seamark_runtime.api.gateway import HTTPRoute, ListenerSet
from seamark_runtime.api.meta import Key
from tests.unit.operator.families.score.publish.given import (
    ACCEPTED,
    LOCAL,
    NOTHING,
    ROUTES,
    Parent,
    condition,
    gateway,
    plan,
    reasons,
    route,
    routed,
    seen,
    urls,
    wire,
)


def test_a_route_that_its_gateway_serves_is_published_before_the_service() -> None:
    status = judge(routed(route(ACCEPTED), gateway()), NOTHING)
    assert wire(status.exposures)[0] == {
        "url": "http://a.example.com",
        "priority": 100,
        "scope": "Public",
        "schemeHint": "HTTP",
    }
    assert urls(status) == ["http://a.example.com", LOCAL]
    assert reasons(status)["IngressPending"] == "False Served"


@pytest.mark.parametrize(
    ("unserved", "gateways"),
    {
        "accepted for an older generation": (route(condition("Accepted", observedGeneration=1)), gateway()),
        "not accepted": (route(condition("Accepted", "False", observedGeneration=2)), gateway()),
        "its backend was not found": (route(ACCEPTED, condition("ResolvedRefs", "False")), gateway()),
        "nobody has looked at it": (route(), gateway()),
        "its parent is a listener set of the Gateway's name": (route(ACCEPTED, kind="ListenerSet"), gateway()),
        "the Gateway is not programmed": (route(ACCEPTED), gateway(programmed="False")),
        "there is no such Gateway": (route(ACCEPTED), {}),
    }.values(),
)
def test_a_route_that_is_not_served_is_pending_and_not_published(unserved: HTTPRoute, gateways: Any) -> None:
    status = judge(routed(unserved, gateways), NOTHING)
    assert urls(status) == [LOCAL]
    assert reasons(status)["IngressPending"] == "True RouteNotServed"


def test_a_route_that_could_not_be_created_is_reported_and_the_workload_runs() -> None:
    refused = Rendered(1, {"route r": "the server could not find the requested resource"})
    status = judge(seen(plan=plan(routes=ROUTES), rendered=refused), NOTHING)
    assert reasons(status)["IngressPending"] == "True Refused"
    assert reasons(status)["Degraded"] == "False AsItShould"


def test_scheme_and_port_are_the_listeners_and_the_secure_one_comes_first() -> None:
    listeners = (
        {"name": "web", "port": 8080, "protocol": "HTTP"},
        {"name": "tls", "port": 443, "protocol": "HTTPS", "hostname": "*.example.com"},
        {"name": "other", "port": 443, "protocol": "HTTPS", "hostname": "other.example.org"},
        {"name": "raw", "port": 9, "protocol": "TCP"},
    )
    status = judge(routed(route(ACCEPTED), gateway(*listeners)), NOTHING)
    assert urls(status) == ["https://a.example.com", "http://a.example.com:8080", LOCAL]
    status = judge(routed(route(ACCEPTED, section="web"), gateway(*listeners)), NOTHING)
    assert urls(status) == ["http://a.example.com:8080", LOCAL]
    down: dict[str, Any] = {"listeners": [{"name": "tls", "conditions": [condition("Programmed", "False")]}]}
    without = judge(routed(route(ACCEPTED), gateway(*listeners, **down)), NOTHING)
    assert urls(without) == ["http://a.example.com:8080", LOCAL]


def front(*ports: int, outside: tuple[int, ...] = ()) -> dict[Key, tuple[Service, ...]]:
    """The Service before the Gateway, which is reached at other ports than its own."""
    published = [{"port": port, "protocol": "TCP"} for port in outside]
    raw = {
        "metadata": {"name": "gw", "namespace": "default"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": port} for port in ports]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", **({"ports": published} if published else {})}]}},
    }
    return {Key("default", "default"): (msgspec.convert(raw, Service),)}


def test_a_route_is_reached_at_the_port_of_the_load_balancer_before_the_gateway() -> None:
    served, listener = route(ACCEPTED), {"name": "web", "port": 8080, "protocol": "HTTP"}
    for fronts, url in (
        (front(9, 8080, outside=(20001, 20002)), "http://a.example.com:20002"),
        (front(8080), "http://a.example.com:8080"),
        ({}, "http://a.example.com:8080"),
    ):
        assert urls(judge(routed(served, gateway(listener), fronts=fronts), NOTHING))[0] == url


def listener_set(*listeners: dict[str, Any]) -> dict[ParentKey, Parent]:
    """With listeners of its own on the Gateway."""
    spec = {"parentRef": {"name": "default"}, "listeners": list(listeners)}
    raw = {"metadata": {"name": "more", "namespace": "default"}, "spec": spec}
    return {ParentKey("ListenerSet", Key("default", "more")): msgspec.convert(raw, ListenerSet)}


def test_a_route_at_a_listener_set_is_reached_at_the_listeners_of_the_set() -> None:
    served = route(ACCEPTED, name="more", kind="ListenerSet")
    more = listener_set({"name": "tls", "port": 443, "protocol": "HTTPS", "hostname": "*.example.com"})
    assert urls(judge(routed(served, gateway() | more), NOTHING)) == ["https://a.example.com", LOCAL]
    unserved = judge(routed(served, gateway(programmed="False") | more), NOTHING)
    assert urls(unserved) == [LOCAL]
    assert reasons(unserved)["IngressPending"] == "True RouteNotServed"


def test_a_route_is_not_published_at_listeners_that_do_not_allow_it() -> None:
    listeners: tuple[dict[str, Any], ...] = (
        {"name": "web", "port": 80, "protocol": "HTTP"},
        {"name": "none", "port": 8080, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "None"}}},
        {"name": "grpc", "port": 8081, "protocol": "HTTP", "allowedRoutes": {"kinds": [{"kind": "GRPCRoute"}]}},
    )
    assert urls(judge(routed(route(ACCEPTED), gateway(*listeners)), NOTHING)) == ["http://a.example.com", LOCAL]
    by_port = judge(routed(route(ACCEPTED, port=80), gateway(*listeners[:1])), NOTHING)
    assert urls(by_port) == ["http://a.example.com", LOCAL]
    assert urls(judge(routed(route(ACCEPTED, port=81), gateway(*listeners[:1])), NOTHING)) == [LOCAL]
