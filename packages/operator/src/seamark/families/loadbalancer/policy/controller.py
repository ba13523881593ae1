"""NgrokTrafficPolicy: checked as the edge checks it, and its status written. Nothing is created for it."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.loadbalancer.endpoints import requeue_unchecked
from seamark.families.loadbalancer.policies import BadPolicy, UncheckedPolicy, check
from seamark_edge.api.ngrok import NgrokTrafficPolicy, NgrokTrafficPolicyStatus
from seamark_edge.model import PolicyRefusal
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType
from seamark_runtime.controller import Controller, Wanted
from seamark_runtime.status import ByManager
from seamark_runtime.view import View

VALID = ConditionType(
    "Valid",
    meaning="The edge accepts the policy; with ngrok's own, its phases, rules and actions are where they belong",
    reasons={
        "TrafficPolicyValid": "It can be used; what only the edge can check, the endpoints that name it report",
        "TrafficPolicyParseFailed": "It can't be used; the message has the path to what is wrong",
        "LegacyPolicyFormat": "It is in the format with inbound and outbound, which is not read any more",
        "Pending": "It is not checked yet",
    },
)
READY = ConditionType(
    "Ready",
    meaning="Endpoints can use the policy",
    reasons={"TrafficPolicyValid": "It is valid", "Pending": "Nobody has looked yet"},
    summary=True,
)
CONDITIONS = (VALID, READY)


@dataclass(frozen=True, slots=True)
class Seen:
    policy: NgrokTrafficPolicy
    mistake: BadPolicy | None


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def judge(seen: Seen, _answers: Answers) -> NgrokTrafficPolicyStatus:
    if isinstance(bad := seen.mistake, UncheckedPolicy):
        valid = VALID.unknown("Pending", bad.message)
    elif bad:
        valid = VALID.false("LegacyPolicyFormat" if bad.legacy else "TrafficPolicyParseFailed", bad.message)
    else:
        valid = VALID.true("TrafficPolicyValid", "The policy is valid")
    return NgrokTrafficPolicyStatus(
        conditions=(valid, READY.worst_of(valid, otherwise=("TrafficPolicyValid", "The policy is valid")))
    )


def mistake(policy: NgrokTrafficPolicy, refusal: PolicyRefusal) -> BadPolicy | None:
    try:
        check(policy.spec.policy or {}, refusal, policy.metadata.namespace)
    except BadPolicy as bad:
        return bad
    return None


def controller(refusal: PolicyRefusal) -> Controller[Seen]:
    def observe(view: View, policy: NgrokTrafficPolicy, _results: Results) -> Seen | None:
        if policy.deleting:
            return None
        if (bad := mistake(policy, refusal)) is not None:
            requeue_unchecked(view, bad)
        return Seen(policy, bad)

    return Controller(
        name="trafficpolicies",
        kind=NgrokTrafficPolicy,
        observe=observe,
        desire=desire,
        judge=judge,
        status=ByManager(manager="seamark-trafficpolicies", conditions=CONDITIONS),
    )
