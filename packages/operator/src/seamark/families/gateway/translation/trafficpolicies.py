"""TrafficPolicies at a gateway: the effect of several on each rule behind each listener. Pure.

The more specific precedes: an extension of the rule, the rule by name, the route, the listener, the gateway; on one
level the oldest. Each top-level field is taken from the first policy that has it. A policy that can't be used has no
effect, unless it protects: then its last good settings apply, and without any its routes answer 500.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark.families.gateway.model.routes import AttachedRoute, Rule
from seamark.families.gateway.rules.features.table import FILTER_PARTS, MERGED
from seamark.families.gateway.translation.policytable import PolicyTable
from seamark.families.gateway.translation.policyuse import PolicyUse, conditions
from seamark.families.gateway.translation.state import AppliedPolicy
from seamark.gatewayapi.listeners import ListenerId
from seamark_edge.dataplane import model
from seamark_runtime.api.meta import Condition, Key

ParentLabels = Mapping[tuple[str, Key], Mapping[str, str]]  # of a gateway and of its listener sets
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
    parents = parent_labels(gateway)
    everywhere = table.about("Gateway", gateway.key, "", dict(gateway.labels))
    for each in attached:
        route, own = each.route, dict(each.route.labels)
        key = Key(route.origin.namespace, route.origin.name)
        whole = table.about(route.origin.kind, key, "", own)
        for policy in table.without_section(route.origin.kind, key, (rule.name for rule in route.rules)):
            uses.setdefault(policy, PolicyUse())
        for listener, _ in each.through:
            behind = [*at_listener(table, listener, parents), *everywhere]
            for number, rule in enumerate(route.rules):
                levels = [*at_rule(table, rule, route.origin, own), *whole, *behind]
                unresolved = not all(map(table.usable, rule.extensions))
                if levels or unresolved:
                    policies[(route.origin, number, listener)] = applied(levels, uses, unresolved=unresolved)
    listeners = [listener.spec.id for listener in gateway.listeners]
    for kind, key in parents:
        names = [listener.name for listener in listeners if (listener.kind, listener.key) == (kind, key)]
        for policy in table.without_section(kind, key, names):
            uses.setdefault(policy, PolicyUse())
    behind = [policy for listener in listeners for policy in at_listener(table, listener, parents)]
    sets = [policy for (kind, key), own in parents.items() for policy in table.about(kind, key, "", own)]
    for policy in (*everywhere, *behind, *sets):
        uses.setdefault(policy, PolicyUse(set(dict(policy.parts))))  # it is effective without routes, too
    return policies, {policy.key: conditions(policy, use) for policy, use in uses.items()}


def parent_labels(gateway: GatewayView) -> ParentLabels:
    found = {("Gateway", gateway.key): dict(gateway.labels)}
    return {**found, **{("ListenerSet", key): dict(labels) for key, labels in gateway.set_labels}}


def at_rule(table: PolicyTable, rule: Rule, origin: model.Origin, labels: Mapping[str, str]) -> list[TrafficPolicyView]:
    found = [policy for key in rule.extensions if (policy := table.extension(key)) is not None]
    key = Key(origin.namespace, origin.name)
    return [*found, *(table.about(origin.kind, key, rule.name, labels) if rule.name else ())]


def at_listener(table: PolicyTable, listener: ListenerId, parents: ParentLabels) -> list[TrafficPolicyView]:
    """Those of the listener, and of the set that it is of."""
    own = parents.get((listener.kind, listener.key), {})
    found = table.about(listener.kind, listener.key, listener.name, own)
    return found if listener.kind == "Gateway" else [*found, *table.about("ListenerSet", listener.key, "", own)]


def applied(
    levels: list[TrafficPolicyView], uses: dict[TrafficPolicyView, PolicyUse], *, unresolved: bool = False
) -> AppliedPolicy:
    chosen: dict[str, Any] = {}
    owners: dict[str, TrafficPolicyView] = {}
    sources: dict[TrafficPolicyView, None] = {}
    blocked = unresolved  # a protection that can't be served is never left out: requests are answered with an error
    for policy in dict.fromkeys(levels):
        use = uses.setdefault(policy, PolicyUse())
        for name, value in policy.parts:
            if name not in chosen:
                chosen[name] = value
                use.effective.add(name)
                sources[policy] = None
                owners[name] = policy
            elif name in MERGED and owners.get(name) is not policy:
                chosen[name] = value if chosen[name] is None else chosen[name].merged(value)
                use.effective.add(name)
                sources[policy] = None
            elif name in owners:
                use.replaced.setdefault(name, set()).add(owners[name])
        for name in policy.guards if policy.problem else ():
            blocked = blocked or name not in chosen or (name in MERGED and name not in dict(policy.parts))
            chosen.setdefault(name, None)
    for policy in sources if len(sources) > 1 else ():
        uses[policy].beside.update(other for other in sources if other is not policy)
    request, response = chosen.get("header_modifiers", (model.NO_HEADERS, model.NO_HEADERS))
    timeout, idle = chosen.get("timeouts", (None, None))
    backends = tuple(dict.fromkeys(each for policy in sources for each in policy.backends))
    filters = tuple(setting for part in FILTER_PARTS if (setting := chosen.get(part)) is not None)
    extras = model.Extras(chosen.get("cors"), chosen.get("rate_limit"), request, response, filters)
    return AppliedPolicy(
        extras,
        timeout,
        idle,
        retry=chosen.get("retry"),
        rewrite=chosen.get("url_rewrite"),
        backend_host=bool(chosen.get("auto_host_rewrite")),
        backends=backends,
        unresolved=blocked,
    )
