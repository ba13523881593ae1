"""The controller of NgrokTrafficPolicies: checked as the edge checks them."""

from __future__ import annotations

from functools import partial

from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.endpoints import requeue_unchecked
from seamark.families.loadbalancer.model.policies import BadPolicy, check
from seamark.families.loadbalancer.model.policychecks import CheckedPolicies
from seamark.families.loadbalancer.trafficpolicy.reconcile import desire, judge
from seamark.families.loadbalancer.trafficpolicy.state import CONDITIONS, Seen
from seamark_edge.api.ngrok import NgrokTrafficPolicy
from seamark_edge.model import PolicyRefusal
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


def observe(refusal: PolicyRefusal, view: View, policy: NgrokTrafficPolicy, _results: Results) -> Seen | None:
    return observed(refusal, view, policy)


def observed(refusal: PolicyRefusal, view: View, policy: NgrokTrafficPolicy) -> Seen | None:
    if policy.deleting:
        return None
    if (bad := mistake(policy, refusal)) is not None:
        requeue_unchecked(view, bad)
    return Seen(policy, bad)


def mistake(policy: NgrokTrafficPolicy, refusal: PolicyRefusal) -> BadPolicy | None:
    try:
        check(policy.spec.policy or {}, refusal, policy.metadata.namespace)
    except BadPolicy as bad:
        return bad
    return None


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    traffic_policies = Controller(
        name="trafficpolicies",
        kind=NgrokTrafficPolicy,
        observe=partial(observe, dependencies.policy_refusal),
        desire=desire,
        judge=judge,
        memory=CheckedPolicies(observed, dependencies.policy_check),
        status=ByManager(manager="seamark-trafficpolicies", conditions=CONDITIONS),
    )
    return (traffic_policies,)
