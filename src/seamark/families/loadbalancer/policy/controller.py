"""NgrokTrafficPolicy: parsed, checked phase by phase, and told about. Nothing is made of it here."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.ngrok import NgrokTrafficPolicy, NgrokTrafficPolicyStatus
from seamark.core.apply import Answers
from seamark.core.calls import Results
from seamark.core.conditions import ConditionType
from seamark.core.controller import Controller, Wanted
from seamark.core.status import ByManager
from seamark.core.view import View
from seamark.families.loadbalancer.policies import BadPolicy, check

VALID = ConditionType(
    "Valid",
    meaning="The policy can be read, and its phases, rules and actions are where they belong",
    reasons={
        "TrafficPolicyValid": "It can be used; whether an edge can do what it says, endpoints tell",
        "TrafficPolicyParseFailed": "It can't be used; the message has the path to what is wrong",
        "LegacyPolicyFormat": "It is in the format with inbound and outbound, which is not read any more",
        "Pending": "Nobody has looked yet",
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


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def judge(seen: Seen, _answers: Answers) -> NgrokTrafficPolicyStatus:
    try:
        check(seen.policy.spec.policy or {})
    except BadPolicy as bad:
        valid = VALID.false("LegacyPolicyFormat" if bad.legacy else "TrafficPolicyParseFailed", bad.message)
    else:
        valid = VALID.true("TrafficPolicyValid", "The policy is valid")
    return NgrokTrafficPolicyStatus(
        conditions=(valid, READY.worst_of(valid, otherwise=("TrafficPolicyValid", "The policy is valid")))
    )


def controller() -> Controller[Seen]:
    def observe(_view: View, policy: NgrokTrafficPolicy, _results: Results) -> Seen | None:
        return None if policy.deleting else Seen(policy)

    return Controller(
        name="trafficpolicies",
        kind=NgrokTrafficPolicy,
        observe=observe,
        desire=desire,
        judge=judge,
        status=ByManager(manager="seamark-trafficpolicies", conditions=CONDITIONS),
    )
