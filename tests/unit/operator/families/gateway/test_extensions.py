"""A rule whose extension can't be used answers with an error: it is not served without it, and not left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest

from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark.families.gateway.model.routes import AttachedRoute
from seamark.families.gateway.rules import httprules
from seamark.families.gateway.rules.backends import Resolver
from seamark.families.gateway.translation.policytable import PolicyTable
from seamark.families.gateway.translation.trafficpolicies import merge_traffic_policies
from seamark_edge.dataplane import model
from seamark_runtime.api.gateway import GRPCRoute, HTTPRoute
from seamark_runtime.api.meta import Key
from seamark_runtime.view import View
from tests.unit.operator.families.gateway.given import given, route, snapshot_of
from tests.unit.operator.families.gateway.test_traffic import policy

POLICY = {"group": "gateway.kgateway.dev", "kind": "TrafficPolicy"}
BACKEND = {"name": "web", "port": 80}
REDIRECT = {"type": "RequestRedirect", "requestRedirect": {"hostname": "example.com"}}


class Policies(Resolver):
    """Every backend is there, and one policy: `there`."""

    def __init__(self) -> None:
        super().__init__(
            cast("View", None), "HTTPRoute", "default", lambda key: "" if key == Key("default", "there") else "gone"
        )

    def cluster(self, field: str, _ref: Any, _protocol: str = "") -> str:
        return field


def extension(name: str, **kind: str) -> dict[str, Any]:
    return {"type": "ExtensionRef", "extensionRef": {**POLICY, **kind, "name": name}}


def actions(kind: type[Any], *filters: dict[str, Any], **backend: Any) -> tuple[list[model.Action], list[str]]:
    """What the entries of a rule with these filters do, and the reasons of what is unresolved."""
    rule = {"filters": list(filters), "backendRefs": [{**BACKEND, **backend}]}
    made = msgspec.convert({"metadata": {"name": "r", "namespace": "default"}, "spec": {"rules": [rule]}}, kind)
    resolver = Policies()
    compiled = httprules.compiled(made, resolver)
    assert not compiled.broken
    return [entry.action for rule in compiled.rules for entry in rule.entries], [
        reference.reason for reference in resolver.unresolved
    ]


@pytest.mark.parametrize("kind", [HTTPRoute, GRPCRoute])
@pytest.mark.parametrize(
    ("name", "of", "reason"),
    [
        ("gone", {}, "InvalidExtensionRef"),
        ("a/b", {}, "InvalidExtensionRef"),
        ("there", {"kind": "Firewall"}, "InvalidKind"),
        ("there", {"group": "example.com"}, "InvalidKind"),
    ],
)
def test_a_rule_whose_extension_can_not_be_used_answers_500(
    kind: type[Any], name: str, of: dict[str, str], reason: str
) -> None:
    """Routes rule 15."""
    assert actions(kind, extension(name, **of)) == ([model.Respond(500)], [reason])
    assert actions(kind, extension("there"), extension(name, **of)) == ([model.Respond(500)], [reason])


def test_a_redirect_is_not_made_without_the_extension_either() -> None:
    found, _ = actions(HTTPRoute, REDIRECT, extension("gone"))
    assert found == [model.Respond(500)]
    found, _ = actions(HTTPRoute, REDIRECT, extension("there"))
    assert isinstance(found[0], model.Redirect)


@pytest.mark.parametrize("name", ["there", "gone"])
def test_an_extension_of_a_backend_is_not_left_out(name: str) -> None:
    assert actions(HTTPRoute, filters=[extension(name)]) == ([model.Respond(500)], ["InvalidExtensionRef"])


def test_an_extension_that_is_there_is_named_by_its_rule() -> None:
    found, unresolved = actions(HTTPRoute, extension("there"))
    assert isinstance(found[0], model.Forward)
    assert not unresolved


def extended() -> AttachedRoute:
    attached = route("a")
    rule = replace(attached.route.rules[0], extensions=(Key("default", "ext"),))
    return replace(attached, route=replace(attached.route, rules=(rule,)))


def served(*policies: TrafficPolicyView) -> list[model.Action]:
    """What the data plane does for a rule with the extension `ext`, while these policies are known."""
    attached = extended()
    scene = given(attached)
    applied, _ = merge_traffic_policies(scene.gateway, [attached], PolicyTable(policies))
    snapshot = snapshot_of(replace(scene, policies=applied))
    tables = snapshot.tables.values()
    return [entry.action for table in tables for host in table.hosts for entry in host.entries]


def test_while_the_policy_is_not_known_to_the_translation_its_rule_answers_500() -> None:
    """The route may have been read before the policy was: what is published about the route may be older or newer."""
    other = policy("other", ("HTTPRoute", "a", ""), timeouts={"request": "9s"})
    broken = TrafficPolicyView(Key("default", "ext"), "", (), (), (), problem="The field extAuth is not supported")
    for policies in ((), (other,), (broken,), (broken, other)):
        assert served(*policies) == [model.Respond(500)]
    (action,) = served(policy("ext", timeouts={"request": "4s"}), other)
    assert isinstance(action, model.Forward)
    assert action.timeout == 4
