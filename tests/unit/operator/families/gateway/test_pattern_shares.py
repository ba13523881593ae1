"""The patterns of one namespace's routes do not take a gateway of another one from the others."""

from __future__ import annotations

from dataclasses import replace

from seamark.families.gateway.model.options import PatternShares
from seamark.families.gateway.model.routes import AttachedRoute
from seamark.families.gateway.translation.patternshares import beyond_share, cost_of
from seamark.families.gateway.translation.reconcile import report_refusals
from seamark.families.gateway.translation.state import AppliedPolicy, Seen, remove_call
from seamark_edge.dataplane import model
from seamark_edge.dataplane.filters import Csrf, Rbac, TextRule
from seamark_edge.dataplane.model import Origin
from seamark_runtime.apply import Answers
from tests.unit.operator.families.gateway.given import GATEWAY, LISTENER, given, route

SHARES = PatternShares(foreign=1000, own=5000)
VIEW = given().gateway


def costly(name: str, namespace: str, cost: int, hosts: int = 1) -> AttachedRoute:
    plain = route(name)
    rules = tuple(replace(rule, patterns=cost) for rule in plain.route.rules)
    names = tuple(f"h{number}.example.com" for number in range(hosts))
    view = replace(plain.route, origin=Origin("HTTPRoute", namespace, name), rules=rules)
    return AttachedRoute(view, ((LISTENER, names),))


def refused(*routes: AttachedRoute, shares: PatternShares = SHARES) -> list[str]:
    return [origin.name for origin in beyond_share(VIEW, routes, {}, shares)]


def test_of_the_routes_of_another_namespace_the_oldest_are_served() -> None:
    """Routes rule 14."""
    many = [costly(f"r{number}", "tenant", 300) for number in range(40)]
    assert refused(*many) == [f"r{number}" for number in range(3, 40)]
    assert refused(*many, costly("victim", "other", 900)) == [f"r{number}" for number in range(3, 40)]


def test_each_host_name_counts() -> None:
    """Routes rule 14."""
    assert refused(costly("a", "tenant", 100, hosts=10)) == []
    assert refused(costly("a", "tenant", 100, hosts=11)) == ["a"]


def test_a_route_without_patterns_is_always_served() -> None:
    """Routes rule 14."""
    assert refused(costly("a", "tenant", 1000), costly("plain", "tenant", 0), costly("small", "tenant", 1)) == ["small"]


def test_the_namespace_of_the_gateway_has_a_larger_share_and_zero_is_no_limit() -> None:
    """Routes rule 14."""
    own = [costly(f"r{number}", GATEWAY.namespace, 1000) for number in range(6)]
    assert refused(*own) == ["r5"]
    assert refused(*own, costly("a", "tenant", 10**9), shares=PatternShares(0, 0)) == []


def test_the_patterns_of_policies_count_with_the_routes_that_they_apply_to() -> None:
    """Routes rule 14."""
    plain = costly("a", "tenant", 0)
    csrf = Csrf(100, 0, (TextRule("regex", "a{90}"), TextRule("exact", "https://a")))
    rbac = Rbac(allow=True, conditions=("request.path.matches('a') || request.path.matches('b')",))
    applied = AppliedPolicy(model.Extras(filters=(csrf, rbac)), rewrite=model.Rewrite(regex=("a{50}", "/")))
    found = cost_of(plain, {(plain.route.origin, 0, LISTENER): applied})
    assert 90 + 200 + 50 < found < 600


def test_what_is_not_served_says_so_on_the_route_with_the_share() -> None:
    """Routes rule 14."""
    [(origin, message)] = beyond_share(VIEW, [costly("a", "tenant", 1001)], {}, SHARES).items()
    assert "namespace tenant" in message
    assert "1000 instructions" in message
    seen = Seen(GATEWAY, remove_call(GATEWAY), refused={Origin("HTTPRoute", "x", "y"): "no"}, beyond={origin: message})
    assert report_refusals(seen, Answers({}, {})) == {
        Origin("HTTPRoute", "x", "y"): "The data plane refused it: no",
        origin: message,
    }
