"""What the data plane refuses is traced to the object that brought it: that one is taken out, all else is served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from seamark.families.gateway.model.gateways import ListenerTLS
from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark.families.gateway.model.routes import AttachedRoute
from seamark.families.gateway.remote import Remote
from seamark.families.gateway.rules.trafficpolicies import guards
from seamark.families.gateway.translation.policytable import PolicyTable
from seamark.families.gateway.translation.state import Program, Programmed, TranslationInput
from seamark.families.gateway.translation.trafficpolicies import merge_traffic_policies
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_edge.dataplane.model import ClientTls, Entry, Headers, Origin, RateLimit, Respond, Secret, Snapshot
from seamark_edge.dataplane.protocol import Outcome, Rejected
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import SystemClock
from tests.unit.operator.families.gateway.given import GATEWAY, given, origin, route, snapshot_of

BAD, GOOD = Headers(set=(("x-bad", "1"),)), Headers(set=(("x-good", "1"),))
NONE = Headers()
LIMIT = ("rate_limit", RateLimit(5, 5, 1.0))
POLICY = Origin("TrafficPolicy", "default", "policy")


class Plane(MemoryDataPlane):
    """Refuses what a test calls bad; `tried` counts the configurations that it was sent."""

    def __init__(self, bad: Callable[[Snapshot], tuple[str, ...]] = lambda _: ()) -> None:
        super().__init__()
        self.bad = bad
        self.tried: list[Snapshot] = []

    async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
        self.tried.append(snapshot)
        if found := self.bad(snapshot) or bad_headers(snapshot):
            return Rejected("no", found)
        return await super().program(gateway, snapshot)


def bad_headers(snapshot: Snapshot) -> tuple[str, ...]:
    found = any(BAD in (entry.extras.request, entry.request) for entry in entries(snapshot))
    return tuple(snapshot.tables) if found else ()


def entries(snapshot: Snapshot) -> list[Entry]:
    return [entry for table in snapshot.tables.values() for host in table.hosts for entry in host.entries]


def policy(*parts: tuple[str, Any], name: str = "policy", target: str = "", problem: str = "") -> TrafficPolicyView:
    """Of the gateway, or of the route that it names."""
    targets = (("HTTPRoute", Key("default", target), "") if target else ("Gateway", GATEWAY, ""),)
    protecting = frozenset(name for name, _ in parts if name == "rate_limit")
    return TrafficPolicyView(
        Key("default", name), "", targets, (), () if problem else parts, problem=problem, guards=protecting
    )


def changing(headers: Headers) -> tuple[str, Any]:
    return ("header_modifiers", (headers, NONE))


def scene(routes: list[AttachedRoute], *policies: TrafficPolicyView) -> TranslationInput:
    found, table = given(*routes), PolicyTable(policies)
    merged, _ = merge_traffic_policies(found.gateway, routes, table)
    return replace(found, policies=merged, table=table)


async def program(remote: Remote, seen: TranslationInput) -> Programmed:
    snapshot = snapshot_of(seen)
    outcome = await remote.perform(Program(GATEWAY, str(id(snapshot)), seen, snapshot))
    assert isinstance(outcome, Programmed)
    return outcome


def story(plane: Plane, *scenes: TranslationInput) -> list[Programmed]:
    remote = Remote(plane, SystemClock())

    async def run() -> list[Programmed]:
        return [await program(remote, scene) for scene in scenes]

    return asyncio.run(run())


def names(plane: Plane) -> set[str]:
    return {entry.origin.name for entry in entries(plane.serving[GATEWAY])}


MANY = [route(f"r{number}") for number in range(200)]


def test_a_policy_of_a_gateway_with_200_routes_is_taken_out_alone_and_no_route_is_missing_meanwhile() -> None:
    plane = Plane()
    outcomes = story(plane, scene(MANY), scene(MANY, policy(changing(BAD))), scene(MANY))
    assert [dict(outcome.refused) for outcome in outcomes] == [{}, {POLICY: "no"}, {}]
    assert all(len(entries(snapshot)) == 200 for snapshot in plane.tried)
    assert len(plane.tried) <= 5


def test_a_policy_is_found_also_by_an_operator_that_has_just_started() -> None:
    plane = Plane()
    [outcome] = story(plane, scene(MANY, policy(changing(BAD))))
    assert dict(outcome.refused) == {POLICY: "no"}
    assert all(len(entries(snapshot)) == 200 for snapshot in plane.tried), "the routes are served all the time"


def test_a_route_and_a_policy_that_are_both_refused_are_both_found_and_nothing_else() -> None:
    plane = Plane()
    [first, *rest] = MANY
    [entry] = first.route.rules[0].entries
    rule = replace(first.route.rules[0], entries=(replace(entry, request=BAD),))
    bad = replace(first, route=replace(first.route, rules=(rule,)))
    good = policy(changing(GOOD), name="good", target="r7")
    [outcome] = story(plane, scene([bad, *rest], policy(changing(BAD)), good))
    assert dict(outcome.refused) == {POLICY: "no", origin("r0"): "no"}
    assert names(plane) == {f"r{number}" for number in range(1, 200)}
    changed = [entry.origin.name for entry in entries(plane.serving[GATEWAY]) if entry.extras.request == GOOD]
    assert changed == ["r7"]


def test_a_mended_policy_is_in_effect_at_once() -> None:
    plane = Plane()
    outcomes = story(plane, scene(MANY, policy(changing(BAD))), scene(MANY, policy(changing(GOOD))))
    assert dict(outcomes[1].refused) == {}
    assert all(entry.extras.request == GOOD for entry in entries(plane.serving[GATEWAY]))


def test_a_refused_policy_that_did_not_change_is_not_tried_again() -> None:
    once, thrice = Plane(), Plane()
    story(once, scene(MANY, policy(changing(BAD))))
    outcomes = story(thrice, *[scene(MANY, policy(changing(BAD)))] * 3)
    assert [dict(outcome.refused) for outcome in outcomes] == [{POLICY: "no"}] * 3
    assert len(thrice.tried) == len(once.tried) + 2


def test_a_route_that_was_refused_with_a_policy_is_tried_again_without_it() -> None:
    """It is the two together: the route is younger, so it is the cause; without the policy there is none."""

    def both(snapshot: Snapshot) -> tuple[str, ...]:
        found = any(entry.origin.name == "b" and entry.extras.request == GOOD for entry in entries(snapshot))
        return tuple(snapshot.tables) if found else ()

    plane, rule = Plane(both), policy(changing(GOOD))
    outcomes = story(
        plane, scene([route("a")], rule), scene([route("a"), route("b")], rule), scene([route("a"), route("b")])
    )
    assert [dict(outcome.refused) for outcome in outcomes] == [{}, {origin("b"): "no"}, {}]
    assert names(plane) == {"a", "b"}


def test_a_refused_policy_that_protects_keeps_its_last_good_form() -> None:
    plane = Plane()
    outcomes = story(plane, scene(MANY, policy(LIMIT)), scene(MANY, policy(LIMIT, changing(BAD))))
    assert dict(outcomes[1].refused) == {POLICY: "no"}
    assert all(entry.extras.rate == LIMIT[1] for snapshot in plane.tried for entry in entries(snapshot))
    assert all(entry.action != Respond(500) for snapshot in plane.tried for entry in entries(snapshot))


def test_without_a_last_good_form_the_routes_of_a_policy_that_protects_answer_500_and_the_others_are_served() -> None:
    plane = Plane()
    story(plane, scene(MANY, policy(LIMIT, changing(BAD), target="r7")))
    closed = {entry.origin.name for entry in entries(plane.serving[GATEWAY]) if entry.action == Respond(500)}
    assert closed == {"r7"}


def test_a_policy_that_fails_its_checks_is_as_closed_as_one_that_the_data_plane_refuses() -> None:
    plane = Plane()
    protecting = replace(policy(problem="no"), guards=frozenset({"ext_auth"}))
    story(plane, scene(MANY, protecting), scene(MANY, replace(protecting, guards=frozenset())))
    assert all(entry.action == Respond(500) for entry in entries(plane.tried[0]))
    assert all(entry.action != Respond(500) for entry in entries(plane.tried[1]))


def test_a_more_specific_policy_of_the_same_field_opens_what_a_broken_one_has_closed() -> None:
    plane = Plane()
    broken = replace(policy(problem="no"), guards=frozenset({"rate_limit"}))
    story(plane, scene(MANY, broken, policy(LIMIT, name="own", target="r7")))
    served = {entry.origin.name for entry in entries(plane.serving[GATEWAY]) if entry.action != Respond(500)}
    assert served == {"r7"}


@pytest.mark.parametrize(
    ("spec", "protecting"),
    [
        ({"rateLimit": {"local": {"tokenBucket": {"maxTokens": 1}}}}, {"rate_limit"}),
        ({"extAuth": {"extensionRef": {"name": "x"}}, "jwtAuth": {"extensionRef": {}}}, {"ext_auth", "jwt_auth"}),
        ({"rateLimit": {"local": {}}, "extAuth": {"disable": {}}, "csrf": {"percentageEnabled": 0}}, set()),
        ({"rbac": "nonsense", "acl": [1], "cors": {"allowOrigins": ["*"]}}, {"rbac", "acl"}),
    ],
)
def test_a_field_that_only_switches_a_protection_off_protects_nothing(
    spec: dict[str, Any], protecting: set[str]
) -> None:
    assert guards(spec) == protecting


# ---- certificates, and TLS to backends


def with_certificate(found: TranslationInput, content: bytes) -> TranslationInput:
    [listener] = found.gateway.listeners
    secure = replace(
        listener,
        spec=replace(listener.spec, protocol="HTTPS", port=443),
        tls=ListenerTLS((Secret("default/cert", content, b""),)),
    )
    return replace(found, gateway=replace(found.gateway, listeners=(listener, secure)))


def refuses_secret(snapshot: Snapshot) -> tuple[str, ...]:
    return tuple(name for name, secret in snapshot.secrets.items() if secret.chain == b"bad")


def test_a_refused_certificate_takes_its_listener_out_and_no_other() -> None:
    plane = Plane(refuses_secret)
    [outcome] = story(plane, with_certificate(scene(MANY[:3]), b"bad"))
    assert dict(outcome.refused) == {Origin("Secret", "default", "cert"): "no"}
    assert set(plane.serving[GATEWAY].listeners) == {"80"}
    assert names(plane) == {"r0", "r1", "r2"}


def test_of_a_refused_certificate_the_last_good_one_stays_in_use() -> None:
    plane = Plane(refuses_secret)
    outcomes = story(plane, *(with_certificate(scene(MANY[:3]), content) for content in (b"good", b"bad", b"better")))
    assert [dict(outcome.refused) for outcome in outcomes] == [{}, {Origin("Secret", "default", "cert"): "no"}, {}]
    assert [snapshot.secrets["default/cert"].chain for snapshot in plane.tried[-2:]] == [b"good", b"better"]


def test_a_refused_tls_policy_lets_no_connection_through_and_the_other_backends_are_served() -> None:
    def refuses(snapshot: Snapshot) -> tuple[str, ...]:
        return tuple(name for name, one in snapshot.clusters.items() if one.tls is not None and one.tls.host == "bad")

    plane, found = Plane(refuses), scene(MANY[:3])
    [backend] = {backend for each in found.attached for _, backend in each.route.backends}
    endpoints = {backend: (("10.0.0.1", 80),)}
    bad = replace(
        found,
        endpoints=endpoints,
        tls={backend: ClientTls("bad")},
        tls_sources={backend: Key("default", "tls")},
    )
    [outcome] = story(plane, bad)
    assert dict(outcome.refused) == {Origin("BackendTLSPolicy", "default", "tls"): "no"}
    assert plane.serving[GATEWAY].endpoints[backend.cluster].addresses == ()
    assert names(plane) == {"r0", "r1", "r2"}


def test_a_listener_that_is_refused_is_nobodys_fault_and_no_route_is_taken_out() -> None:
    class Unbound(Plane):
        async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
            self.tried.append(snapshot)
            return Rejected("the port is in use", tuple(snapshot.listeners))

    plane = Unbound()
    [outcome] = story(plane, scene(MANY, policy(changing(GOOD))))
    assert outcome == Programmed(0, (), "the port is in use")
    assert all(len(entries(snapshot)) == 200 for snapshot in plane.tried)


def test_while_a_port_is_in_use_a_refused_policy_is_found_all_the_same_and_no_route_is_missing() -> None:
    class Both(Plane):
        async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
            self.tried.append(snapshot)
            return Rejected("no", (*snapshot.listeners, *bad_headers(snapshot)))

    plane = Both()
    first, _ = story(plane, scene(MANY, policy(changing(BAD))), scene(MANY, policy(changing(BAD))))
    assert first == Programmed(0, ((POLICY, "no"),), "no")
    assert len(plane.tried) <= 5, "it is not searched again"
    assert all(len(entries(snapshot)) == 200 for snapshot in plane.tried)
