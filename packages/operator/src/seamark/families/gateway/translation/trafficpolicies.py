"""TrafficPolicies at a gateway: the effect of several on each rule behind each listener. Pure.

The more specific precedes: an extension of the rule, the rule by name, the route, the listener, the gateway; on one
level the oldest. Each top-level field is taken from the first policy that has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark.families.gateway.model.routes import AttachedRoute, Rule
from seamark.families.gateway.policies.state import POLICY_ACCEPTED
from seamark.families.gateway.trafficpolicy.state import POLICY_ATTACHED
from seamark.families.gateway.translation.state import AppliedPolicy
from seamark.gatewayapi.listeners import ListenerId
from seamark_edge.dataplane import model
from seamark_runtime.api.meta import Condition, Key


@dataclass
class PolicyUse:
    """Which fields of a policy are effective somewhere at a gateway, and whether others are beside them."""

    effective: set[str] = field(default_factory=set)
    together: bool = False


Labels = tuple[tuple[str, str], ...]
SelectorKey = tuple[
    str, str, str, tuple[str, str] | None
]  # kind, namespace, section, and the first label of a selector


class PolicyTable:
    """All policies that may concern a gateway, by their targets: an object is compared only with those that name it,
    and those whose first label it has."""

    def __init__(self, policies: Iterable[TrafficPolicyView]) -> None:
        self._named: dict[tuple[str, Key, str], list[TrafficPolicyView]] = {}
        self._selecting: dict[SelectorKey, list[tuple[TrafficPolicyView, Labels]]] = {}
        self._by_key: dict[Key, TrafficPolicyView] = {}
        for policy in sorted(policies, key=lambda policy: policy.age):
            self._by_key[policy.key] = policy
            for target in policy.targets:
                self._named.setdefault(target, []).append(policy)
            for kind, labels, section in policy.selectors:
                selecting = (kind, policy.key.namespace, section, labels[0] if labels else None)
                self._selecting.setdefault(selecting, []).append((policy, labels))

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def extension(self, key: Key) -> TrafficPolicyView | None:
        return self._by_key.get(key)

    def usable(self, key: Key) -> bool:
        policy = self._by_key.get(key)
        return policy is not None and not policy.problem

    def about(self, kind: str, key: Key, section: str, labels: Mapping[str, str]) -> list[TrafficPolicyView]:
        found = list(self._named.get((kind, key, section), ()))
        for label in (None, *labels.items()) if self._selecting else ():
            for policy, wanted in self._selecting.get((kind, key.namespace, section, label), ()):
                if all(labels.get(name) == value for name, value in wanted):
                    found.append(policy)
        return sorted(dict.fromkeys(found), key=lambda policy: policy.age)


RulePolicies = dict[tuple[model.Origin, int, ListenerId], AppliedPolicy]


def merge_traffic_policies(
    gateway: GatewayView, attached: Iterable[AttachedRoute], table: PolicyTable
) -> tuple[RulePolicies, dict[Key, tuple[Condition, ...]]]:
    """The effective policy of each rule behind each listener, and the conditions of each policy."""
    policies: RulePolicies = {}
    uses: dict[TrafficPolicyView, PolicyUse] = {}
    attached = tuple(attached)
    if not table and not any(rule.extensions for each in attached for rule in each.route.rules):
        return policies, {}
    labels = dict(gateway.labels)
    for each in attached:
        route, own = each.route, dict(each.route.labels)
        whole = table.about(route.origin.kind, Key(route.origin.namespace, route.origin.name), "", own)
        for listener, _ in each.through:
            behind = [*at_listener(table, gateway, listener, labels), *table.about("Gateway", gateway.key, "", labels)]
            for number, rule in enumerate(route.rules):
                levels = [*at_rule(table, rule, route.origin, own), *whole, *behind]
                unresolved = not all(map(table.usable, rule.extensions))
                if levels or unresolved:
                    policies[(route.origin, number, listener)] = applied(levels, uses, unresolved=unresolved)
    for policy in table.about("Gateway", gateway.key, "", labels):
        uses.setdefault(policy, PolicyUse(set(dict(policy.parts))))  # it is effective without routes, too
    return policies, {policy.key: conditions(policy, use) for policy, use in uses.items()}


def at_rule(table: PolicyTable, rule: Rule, origin: model.Origin, labels: Mapping[str, str]) -> list[TrafficPolicyView]:
    found = [policy for key in rule.extensions if (policy := table.extension(key)) is not None]
    key = Key(origin.namespace, origin.name)
    return [*found, *(table.about(origin.kind, key, rule.name, labels) if rule.name else ())]


def at_listener(
    table: PolicyTable, gateway: GatewayView, listener: ListenerId, labels: Mapping[str, str]
) -> list[TrafficPolicyView]:
    if listener.kind == "Gateway":
        return table.about("Gateway", gateway.key, listener.name, labels)
    return [
        *table.about("ListenerSet", listener.key, listener.name, {}),
        *table.about("ListenerSet", listener.key, "", {}),
    ]


def applied(
    levels: list[TrafficPolicyView], uses: dict[TrafficPolicyView, PolicyUse], *, unresolved: bool = False
) -> AppliedPolicy:
    chosen: dict[str, Any] = {}
    sources: set[TrafficPolicyView] = set()
    for policy in dict.fromkeys(levels):
        use = uses.setdefault(policy, PolicyUse())
        for name, value in policy.parts:
            if name not in chosen:
                chosen[name] = value
                use.effective.add(name)
                sources.add(policy)
    for policy in sources if len(sources) > 1 else ():
        uses[policy].together = True
    request, response = chosen.get("header_modifiers", (model.NO_HEADERS, model.NO_HEADERS))
    timeout, idle = chosen.get("timeouts", (None, None))
    extras = model.Extras(chosen.get("cors"), chosen.get("rate_limit"), request, response)
    return AppliedPolicy(extras, timeout, idle, chosen.get("retry"), unresolved)


def conditions(policy: TrafficPolicyView, use: PolicyUse) -> tuple[Condition, ...]:
    missing = f"; not found: {', '.join(policy.missing)}" if policy.missing else ""
    if policy.problem:
        return (POLICY_ACCEPTED.false("Invalid", policy.problem + missing),)
    accepted = POLICY_ACCEPTED.true("Valid", "Policy is accepted" + missing)
    fields = {name for name, _ in policy.parts}
    if fields and not use.effective:
        return accepted, POLICY_ATTACHED.false("Overridden", "Other policies say all that this one says")
    if use.together or use.effective != fields:
        return accepted, POLICY_ATTACHED.true("Merged", "Policy is attached, and others with it")
    return accepted, POLICY_ATTACHED.true("Attached", "Policy is attached")
