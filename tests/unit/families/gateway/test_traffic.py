"""TrafficPolicies: what is refused, what goes before what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from seamark.api.kgateway import served
from seamark.families.gateway.limits import Unsupported
from seamark.families.gateway.policyparts import parts_of
from seamark.families.gateway.shapes import Attached
from seamark.families.gateway.traffic import Table, TrafficView, merged, plain
from seamark.families.gateway.translate import Applied
from seamark_edge.dataplane.model import Retry
from seamark_runtime.api.meta import Key
from tests.unit.families.gateway.test_programming import LISTENER, origin, picture, route

GATEWAY = Key("default", "gateway")


def policy(name: str, *targets: tuple[str, str, str], created: str = "", **spec: Any) -> TrafficView:
    named = tuple((kind, Key("default", target), section) for kind, target, section in targets)
    parts = tuple(parts_of(served(spec)).items())
    return TrafficView(Key("default", name), created or f"2026-01-01T00:00:0{len(name)}Z", named, (), parts)


def effect(*policies: TrafficView, one: Attached | None = None) -> tuple[Applied, dict[str, str]]:
    attached = one or route("a")
    extras, said = merged(picture(attached).gateway, [attached], Table(policies))
    reasons = {key.name: " ".join(f"{c.type}/{c.reason}" for c in words) for key, words in said.items()}
    return extras.get((attached.route.origin, 0, LISTENER), Applied()), reasons


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"extAuth": {}}, "The field extAuth is not supported"),
        ({"rateLimit": {"global": {}}}, "The field rateLimit.global is not supported"),
        ({"timeouts": {"request": "soon"}}, "timeouts.request: 'soon' is no duration"),
        ({"retry": {"perTryTimeout": "5s"}, "timeouts": {"request": "2s"}}, "retry.perTryTimeout must be less"),
        (
            {"rateLimit": {"local": {"tokenBucket": {"maxTokens": 1, "fillInterval": "10ms"}}}},
            "rateLimit.local.tokenBucket.fillInterval must be 50ms or more",
        ),
    ],
)
def test_what_is_not_served_is_refused_by_name(spec: dict[str, Any], words: str) -> None:
    with pytest.raises((msgspec.ValidationError, Unsupported)) as refused:
        parts_of(served(spec))
    assert plain(str(refused.value)).startswith(words)


def test_a_route_goes_before_its_gateway_field_by_field() -> None:
    """Policies rule 3."""
    whole = policy("gateway", ("Gateway", "gateway", ""), timeouts={"request": "9s"}, retry={"attempts": 3})
    own = policy("route", ("HTTPRoute", "a", ""), timeouts={"request": "2s"})
    applied, said = effect(whole, own)
    assert applied.timeout == 2
    assert applied.retry == Retry(3)
    assert said == {"gateway": "Accepted/Valid Attached/Merged", "route": "Accepted/Valid Attached/Merged"}


def test_a_listener_goes_before_its_gateway() -> None:
    whole = policy("gateway", ("Gateway", "gateway", ""), timeouts={"request": "9s"})
    section = policy("listener", ("Gateway", "gateway", "http"), timeouts={"request": "3s"})
    assert effect(whole, section)[0].timeout == 3


def test_a_rule_by_its_name_goes_before_its_route() -> None:
    attached = route("a")
    named = replace(attached.route, rules=(replace(attached.route.rules[0], name="first"),))
    whole = policy("route", ("HTTPRoute", "a", ""), timeouts={"request": "9s"})
    rule = policy("rule", ("HTTPRoute", "a", "first"), timeouts={"request": "1s"})
    assert effect(whole, rule, one=replace(attached, route=named))[0].timeout == 1


def test_an_extension_goes_before_everything() -> None:
    attached = route("a")
    extended = replace(attached.route.rules[0], extensions=(Key("default", "ext"),))
    whole = policy("route", ("HTTPRoute", "a", ""), timeouts={"request": "9s"})
    extension = policy("ext", timeouts={"request": "4s"})
    one = replace(attached, route=replace(attached.route, rules=(extended,)))
    assert effect(whole, extension, one=one)[0].timeout == 4


def test_on_one_level_the_oldest_goes_first_and_the_other_is_told() -> None:
    old = policy("old", ("HTTPRoute", "a", ""), created="2025", timeouts={"request": "1s"})
    new = policy("new", ("HTTPRoute", "a", ""), created="2026", timeouts={"request": "2s"})
    applied, said = effect(new, old)
    assert applied.timeout == 1
    assert said == {"old": "Accepted/Valid Attached/Attached", "new": "Accepted/Valid Attached/Overridden"}


def test_labels_choose_routes_of_the_policys_own_namespace() -> None:
    labelled = replace(route("a").route, labels=(("app", "shop"),))
    chosen = TrafficView(
        Key("default", "p"), "", (), (("HTTPRoute", (("app", "shop"),), ""),), (("timeouts", (5.0, None)),)
    )
    assert effect(chosen, one=replace(route("a"), route=labelled))[0].timeout == 5
    assert effect(chosen)[0] == Applied()
    elsewhere = replace(chosen, key=Key("other", "p"))
    assert effect(elsewhere, one=replace(route("a"), route=labelled))[0] == Applied()


def test_a_missing_target_is_in_the_words_for_those_that_are_there() -> None:
    partly = replace(policy("p", ("HTTPRoute", "a", ""), timeouts={"request": "1s"}), missing=("HTTPRoute default/b",))
    attached = route("a")
    _, said = merged(picture(attached).gateway, [attached], Table([partly]))
    assert said[partly.key][0].message == "Policy is accepted; not found: HTTPRoute default/b"
    assert origin("a") == attached.route.origin


def selecting(name: str, **labels: str) -> TrafficView:
    """A policy for every HTTPRoute of its namespace with these labels."""
    chosen = ("HTTPRoute", tuple(sorted(labels.items())), "")
    return replace(policy(name, timeouts={"request": "2s"}), selectors=(chosen,))


def test_an_object_meets_only_policies_whose_labels_it_has() -> None:
    """A thousand policies that select others cost a route nothing."""
    mine = [selecting("all"), selecting("one", app="web"), selecting("both", app="web", tier="front")]
    others = [selecting(f"other-{number}", app=f"other-{number}") for number in range(1000)]
    table = Table([*mine, *others])
    found = table.about("HTTPRoute", Key("default", "a"), "", {"app": "web", "tier": "front"})
    assert {one.key.name for one in found} == {"all", "one", "both"}
    assert {one.key.name for one in table.about("HTTPRoute", Key("default", "a"), "", {})} == {"all"}
    assert table.about("HTTPRoute", Key("elsewhere", "a"), "", {"app": "web"}) == []
    met = [len(each) for each in table._selecting.values()]
    assert max(met) == 2
