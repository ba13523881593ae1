"""TrafficPolicies: what is refused, what goes before what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from seamark.api.kgateway import served
from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark.families.gateway.model.routes import AttachedRoute
from seamark.families.gateway.rules.policyparts import parts_of
from seamark.families.gateway.rules.trafficpolicies import plain
from seamark.families.gateway.translation.policytable import PolicyTable
from seamark.families.gateway.translation.policyuse import names
from seamark.families.gateway.translation.state import AppliedPolicy
from seamark.families.gateway.translation.trafficpolicies import merge_traffic_policies
from seamark.families.gateway.values.limits import Unsupported
from seamark.gatewayapi.listeners import ListenerId
from seamark_edge.dataplane.filters import Acl
from seamark_edge.dataplane.model import Retry
from seamark_runtime.api.meta import Key
from tests.unit.operator.families.gateway.given import LISTENER, given, origin, route

GATEWAY = Key("default", "gateway")


def policy(name: str, *targets: tuple[str, str, str], created: str = "", **spec: Any) -> TrafficPolicyView:
    named = tuple((kind, Key("default", target), section) for kind, target, section in targets)
    parts = tuple(parts_of(served(spec)).items())
    return TrafficPolicyView(Key("default", name), created or f"2026-01-01T00:00:0{len(name)}Z", named, (), parts)


def effect(*policies: TrafficPolicyView, attached: AttachedRoute | None = None) -> tuple[AppliedPolicy, dict[str, str]]:
    attached = attached or route("a")
    applied, conditions = merge_traffic_policies(given(attached).gateway, [attached], PolicyTable(policies))
    reasons = {key.name: " ".join(f"{c.type}/{c.reason}" for c in found) for key, found in conditions.items()}
    return applied.get((attached.route.origin, 0, LISTENER), AppliedPolicy()), reasons


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"oauth2": {}}, "The field oauth2 is not supported"),
        ({"rateLimit": {"regional": {}}}, "The field rateLimit.regional is not supported"),
        ({"timeouts": {"request": "soon"}}, "timeouts.request: 'soon' is no duration"),
        ({"retry": {"perTryTimeout": "5s"}, "timeouts": {"request": "2s"}}, "retry.perTryTimeout must be less"),
        (
            {"rateLimit": {"local": {"tokenBucket": {"maxTokens": 1, "fillInterval": "10ms"}}}},
            "rateLimit.local.tokenBucket.fillInterval must be 50ms or more",
        ),
    ],
)
def test_what_is_not_served_is_refused_by_name(spec: dict[str, Any], message: str) -> None:
    with pytest.raises((msgspec.ValidationError, Unsupported)) as refused:
        parts_of(served(spec))
    assert plain(str(refused.value)).startswith(message)


def test_a_route_precedes_its_gateway_field_by_field() -> None:
    """Policies rule 3."""
    whole = policy("gateway", ("Gateway", "gateway", ""), timeouts={"request": "9s"}, retry={"attempts": 3})
    own = policy("route", ("HTTPRoute", "a", ""), timeouts={"request": "2s"})
    applied, reasons = effect(whole, own)
    assert applied.timeout == 2
    assert applied.retry == Retry(3)
    assert reasons == {"gateway": "Accepted/Valid Attached/Merged", "route": "Accepted/Valid Attached/Merged"}


def test_a_listener_precedes_its_gateway() -> None:
    whole = policy("gateway", ("Gateway", "gateway", ""), timeouts={"request": "9s"})
    section = policy("listener", ("Gateway", "gateway", "http"), timeouts={"request": "3s"})
    assert effect(whole, section)[0].timeout == 3


def test_a_rule_by_its_name_precedes_its_route() -> None:
    attached = route("a")
    named = replace(attached.route, rules=(replace(attached.route.rules[0], name="first"),))
    whole = policy("route", ("HTTPRoute", "a", ""), timeouts={"request": "9s"})
    rule = policy("rule", ("HTTPRoute", "a", "first"), timeouts={"request": "1s"})
    assert effect(whole, rule, attached=replace(attached, route=named))[0].timeout == 1


def test_an_extension_precedes_everything() -> None:
    attached = route("a")
    extended = replace(attached.route.rules[0], extensions=(Key("default", "ext"),))
    whole = policy("route", ("HTTPRoute", "a", ""), timeouts={"request": "9s"})
    extension = policy("ext", timeouts={"request": "4s"})
    with_extension = replace(attached, route=replace(attached.route, rules=(extended,)))
    assert effect(whole, extension, attached=with_extension)[0].timeout == 4


def test_on_one_level_the_oldest_precedes_and_the_other_reports_it() -> None:
    old = policy("old", ("HTTPRoute", "a", ""), created="2025", timeouts={"request": "1s"})
    new = policy("new", ("HTTPRoute", "a", ""), created="2026", timeouts={"request": "2s"})
    applied, reasons = effect(new, old)
    assert applied.timeout == 1
    assert reasons == {"old": "Accepted/Valid Attached/Attached", "new": "Accepted/Valid Attached/Overridden"}


def test_labels_choose_routes_of_the_policys_own_namespace() -> None:
    labelled = replace(route("a").route, labels=(("app", "shop"),))
    chosen = TrafficPolicyView(
        Key("default", "p"), "", (), (("HTTPRoute", (("app", "shop"),), ""),), (("timeouts", (5.0, None)),)
    )
    assert effect(chosen, attached=replace(route("a"), route=labelled))[0].timeout == 5
    assert effect(chosen)[0] == AppliedPolicy()
    elsewhere = replace(chosen, key=Key("other", "p"))
    assert effect(elsewhere, attached=replace(route("a"), route=labelled))[0] == AppliedPolicy()


def test_a_missing_target_is_in_the_message_for_those_that_are_there() -> None:
    partly = replace(policy("p", ("HTTPRoute", "a", ""), timeouts={"request": "1s"}), missing=("HTTPRoute default/b",))
    attached = route("a")
    _, conditions = merge_traffic_policies(given(attached).gateway, [attached], PolicyTable([partly]))
    assert conditions[partly.key][0].message == "Policy is accepted; not found: HTTPRoute default/b"
    assert origin("a") == attached.route.origin


def selecting(name: str, **labels: str) -> TrafficPolicyView:
    """A policy for every HTTPRoute of its namespace with these labels."""
    chosen = ("HTTPRoute", tuple(sorted(labels.items())), "")
    return replace(policy(name, timeouts={"request": "2s"}), selectors=(chosen,))


def test_an_object_meets_only_policies_whose_labels_it_has() -> None:
    """A thousand policies that select others cost a route nothing."""
    mine = [selecting("all"), selecting("one", app="web"), selecting("both", app="web", tier="front")]
    others = [selecting(f"other-{number}", app=f"other-{number}") for number in range(1000)]
    table = PolicyTable([*mine, *others])
    found = table.about("HTTPRoute", Key("default", "a"), "", {"app": "web", "tier": "front"})
    assert {policy.key.name for policy in found} == {"all", "one", "both"}
    assert {policy.key.name for policy in table.about("HTTPRoute", Key("default", "a"), "", {})} == {"all"}
    assert table.about("HTTPRoute", Key("elsewhere", "a"), "", {"app": "web"}) == []
    met = [len(each) for each in table._selecting.values()]
    assert max(met) == 2


@pytest.mark.parametrize("target", [("Gateway", "gateway", "nowhere"), ("HTTPRoute", "a", "nowhere")])
def test_a_policy_that_names_a_section_which_does_not_exist_is_not_attached_and_reports_it(
    target: tuple[str, str, str],
) -> None:
    lost = replace(policy("lost", target, timeouts={"request": "9s"}), missing=(f"nowhere in {target[0]}",))
    applied, reasons = effect(lost)
    assert applied.timeout is None
    assert reasons == {"lost": "Accepted/Valid Attached/TargetNotFound"}


def test_lists_of_addresses_are_merged_and_one_that_can_not_be_read_closes_whatever_others_have() -> None:
    """Policies rule 28."""
    denied = {"defaultAction": "deny", "rules": [{"cidrs": ["10.0.0.0/8", "::/0"], "action": "deny"}]}
    allowed = {"defaultAction": "allow", "rules": [{"cidrs": ["10.0.0.0/8"], "action": "allow"}]}
    whole = policy("gateway", ("Gateway", "gateway", ""), acl=denied)
    own = policy("route", ("HTTPRoute", "a", ""), acl=allowed)
    applied, reasons = effect(whole, own)
    assert applied.extras.filters == (Acl(allow=True, ranges=(("10.0.0.0/8", True), ("::/0", False))),)
    assert reasons == {"gateway": "Accepted/Valid Attached/Merged", "route": "Accepted/Valid Attached/Merged"}
    broken = replace(whole, parts=(), problem="no", guards=frozenset({"acl"}))
    assert effect(broken, own)[0].unresolved


def messages(*policies: TrafficPolicyView) -> dict[str, str]:
    attached = route("a")
    _, found = merge_traffic_policies(given(attached).gateway, [attached], PolicyTable(policies))
    return {key.name: each[-1].message for key, each in found.items()}


def test_a_policy_reports_which_others_set_its_fields() -> None:
    """Policies rule 6."""
    whole = policy("gateway", ("Gateway", "gateway", ""), timeouts={"request": "9s"}, csrf={})
    own = policy("route", ("HTTPRoute", "a", ""), timeouts={"request": "2s"}, retry={"attempts": 1})
    late = policy("late", ("HTTPRoute", "a", ""), created="2027", timeouts={"request": "1s"}, retry={"attempts": 2})
    assert messages(whole, own, late) == {
        "gateway": (
            "Policy is attached; for some of its targets, timeouts is set by route; other fields are set by route"
        ),
        "route": "Policy is attached; other fields are set by gateway",
        "late": "No field is in effect: retry is set by route, timeouts is set by route",
    }


def test_a_policy_of_another_namespace_is_not_named_and_of_many_three_are() -> None:
    others = [replace(policy("x" * n, created=f"2026-0{n}"), key=Key("default", f"p{n}")) for n in range(1, 6)]
    foreign = replace(policy("secret"), key=Key("theirs", "secret"))
    assert names(policy("mine"), others[:1]) == "p1"
    assert names(policy("mine"), others[:3]) == "p1, p2 and p3"
    assert names(policy("mine"), [*reversed(others), foreign]) == (
        "p1, p2, p3, others and a policy of another namespace"
    )


# ---- listener sets

SET = Key("default", "set")
IN_SET = ListenerId("ListenerSet", SET, "https")


def with_set(*attached: AttachedRoute) -> tuple[GatewayView, list[AttachedRoute]]:
    """A gateway with a labelled set of one listener; the routes come through that."""
    gateway = given().gateway
    [own] = gateway.listeners
    listener = replace(own, spec=replace(own.spec, id=IN_SET))
    view = replace(gateway, listeners=(own, listener), set_labels=((SET, (("team", "red"),)),))
    return view, [replace(each, through=((IN_SET, ("",)),)) for each in attached]


def selecting_sets(section: str = "", **labels: str) -> TrafficPolicyView:
    parts = tuple(parts_of(served({"timeouts": {"request": "3s"}})).items())
    chosen = ("ListenerSet", tuple(labels.items()), section)
    return TrafficPolicyView(Key("default", "chosen"), "", (), (chosen,), parts)


@pytest.mark.parametrize("section", ["", "https"])
def test_a_selector_of_listener_sets_matches_their_labels(section: str) -> None:
    gateway, attached = with_set(route("a"))
    table = PolicyTable([selecting_sets(section, team="red")])
    applied, conditions = merge_traffic_policies(gateway, attached, table)
    assert applied[(origin("a"), 0, IN_SET)].timeout == 3
    assert [each.reason for each in conditions[Key("default", "chosen")]] == ["Valid", "Attached"]
    others, nothing = merge_traffic_policies(gateway, attached, PolicyTable([selecting_sets(team="blue")]))
    assert (others, nothing) == ({}, {})


@pytest.mark.parametrize(
    "target", [("ListenerSet", "set", ""), ("ListenerSet", "set", "https"), ("Gateway", "gateway", "http")]
)
def test_a_policy_of_a_listener_or_a_set_without_routes_is_attached(target: tuple[str, str, str]) -> None:
    gateway, _ = with_set()
    found = policy("early", target, timeouts={"request": "3s"})
    _, conditions = merge_traffic_policies(gateway, [], PolicyTable([found]))
    assert [each.reason for each in conditions[found.key]] == ["Valid", "Attached"]


def test_a_policy_of_a_listener_that_its_set_does_not_have_is_not_attached() -> None:
    gateway, _ = with_set()
    found = replace(policy("lost", ("ListenerSet", "set", "nothing"), timeouts={"request": "3s"}), missing=("nothing",))
    _, conditions = merge_traffic_policies(gateway, [], PolicyTable([found]))
    assert [each.reason for each in conditions[found.key]] == ["Valid", "TargetNotFound"]
