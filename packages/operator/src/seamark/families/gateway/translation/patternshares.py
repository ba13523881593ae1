"""What the patterns of a namespace's routes may cost at one gateway. Pure.

The data plane compiles each of them again at every change, once for each host name that the route is served under.
Of the routes of a namespace the oldest are served; one that goes beyond the share is not, younger ones that fit are.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.options import PatternShares
from seamark.families.gateway.model.routes import AttachedRoute
from seamark.families.gateway.translation.state import NO_POLICY, AppliedPolicy, RulePolicies
from seamark_edge.dataplane.conditions import MOST_PATTERN
from seamark_edge.dataplane.filters import Csrf, Rbac
from seamark_edge.dataplane.model import Origin
from seamark_runtime.untrusted.patterncost import cost

MESSAGE = (
    "The regular expressions of namespace {namespace} at this gateway take more than {share} instructions to compile, "
    "counted for each host name, with those of this route ({cost}): use fewer, or exact and prefix matches"
)


def beyond_share(
    gateway: GatewayView, attached: Iterable[AttachedRoute], policies: RulePolicies, shares: PatternShares
) -> dict[Origin, str]:
    """The routes that are not served, each with the reason. `attached` has the oldest first."""
    spent: dict[str, int] = {}
    beyond: dict[Origin, str] = {}
    for each in attached:
        namespace = each.route.origin.namespace
        share = shares.own if namespace == gateway.key.namespace else shares.foreign
        found = cost_of(each, policies)
        if not found:
            continue
        if share and spent.get(namespace, 0) + found > share:
            beyond[each.route.origin] = MESSAGE.format(namespace=namespace, share=share, cost=found)
        else:
            spent[namespace] = spent.get(namespace, 0) + found
    return beyond


def cost_of(attached: AttachedRoute, policies: RulePolicies) -> int:
    """Of all patterns that a route brings to a gateway, with those of the policies that apply to it."""
    route, total = attached.route, 0
    for listener, names in attached.through:
        for number, rule in enumerate(route.rules):
            applied = policies.get((route.origin, number, listener), NO_POLICY)
            total += max(1, len(names)) * (rule.patterns + len(rule.entries) * cost_of_policy(applied))
    return total


def cost_of_policy(applied: AppliedPolicy) -> int:
    found = 0
    if applied.rewrite is not None and applied.rewrite.regex is not None:
        found += cost(applied.rewrite.regex[0])
    for setting in applied.extras.filters:
        if isinstance(setting, Csrf):
            found += sum(cost(origin.value) for origin in setting.origins if origin.kind == "regex")
        elif isinstance(setting, Rbac):
            found += sum(map(cost_of_expression, setting.conditions))
    return found


@lru_cache(maxsize=4096)
def cost_of_expression(text: str) -> int:
    """Of the patterns of a condition: each has a limit of its own."""
    return text.count("matches") * MOST_PATTERN
