"""What becomes of a TrafficPolicy among others: which of its fields are effective, and which others set. Pure.

Others are named by their age, the oldest first, so that a new one does not change the message of all; one of another
namespace is not named.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark.families.gateway.policies.state import POLICY_ACCEPTED
from seamark.families.gateway.rules.features.table import FEATURES, GLOBAL_LIMIT
from seamark.families.gateway.trafficpolicy.state import POLICY_ATTACHED
from seamark_runtime.api.meta import Condition

MOST_NAMED = 3
FIELDS = {feature.part: feature.field for feature in FEATURES} | {
    "header_modifiers": "headerModifiers",
    "rate_limit": "rateLimit",
    GLOBAL_LIMIT: "rateLimit",
    "url_rewrite": "urlRewrite",
    "auto_host_rewrite": "autoHostRewrite",
}


@dataclass
class PolicyUse:
    """`effective`: fields that are in effect somewhere; `replaced`: fields that others set somewhere, and which these
    are; `beside`: others that set further fields."""

    effective: set[str] = field(default_factory=set)
    replaced: dict[str, set[TrafficPolicyView]] = field(default_factory=dict)
    beside: set[TrafficPolicyView] = field(default_factory=set)


def conditions(policy: TrafficPolicyView, use: PolicyUse) -> tuple[Condition, ...]:
    missing = f"; not found: {', '.join(policy.missing)}" if policy.missing else ""
    if policy.problem:
        return (POLICY_ACCEPTED.false("Invalid", policy.problem + consequence(policy) + missing),)
    accepted = POLICY_ACCEPTED.true("Valid", "Policy is accepted" + missing)
    fields = {name for name, _ in policy.parts}
    if policy.missing and not use.effective:
        return accepted, POLICY_ATTACHED.false("TargetNotFound", f"Not found: {', '.join(policy.missing)}")
    if fields and not use.effective:
        return accepted, POLICY_ATTACHED.false("Overridden", f"No field is in effect: {replaced(policy, use)}")
    others = f"; for some of its targets, {replaced(policy, use)}" if use.replaced else ""
    if use.beside:
        others += f"; other fields are set by {names(policy, use.beside)}"
    reason = "Merged" if use.beside or use.effective != fields else "Attached"
    return accepted, POLICY_ATTACHED.true(reason, "Policy is attached" + others)


def consequence(policy: TrafficPolicyView) -> str:
    """What becomes of requests while a policy that protects can't be used; to be appended."""
    if policy.guards.difference(name for name, _ in policy.parts):
        return "; it protects its targets, so their requests are answered with 500"
    return "; its last valid settings are still in effect" if policy.parts else ""


def replaced(policy: TrafficPolicyView, use: PolicyUse) -> str:
    by_field: dict[str, set[TrafficPolicyView]] = {}
    for part, others in use.replaced.items():
        by_field.setdefault(FIELDS.get(part, part), set()).update(others)
    return ", ".join(f"{name} is set by {names(policy, others)}" for name, others in sorted(by_field.items()))


def names(policy: TrafficPolicyView, others: Iterable[TrafficPolicyView]) -> str:
    found = sorted(others, key=lambda other: other.age)
    own = [other.key.name for other in found if other.key.namespace == policy.key.namespace]
    shown = own[:MOST_NAMED]
    if len(own) > MOST_NAMED:
        shown.append("others")
    if len(own) < len(found):
        shown.append("a policy of another namespace")
    return " and ".join((", ".join(shown[:-1]), shown[-1])) if len(shown) > 1 else shown[0]
