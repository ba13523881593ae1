"""What the decisions about an NgrokTrafficPolicy are made from, and all of its conditions."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.loadbalancer.model.policies import BadPolicy
from seamark_edge.api.ngrok import NgrokTrafficPolicy
from seamark_runtime.conditions import ConditionType

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
    reasons={"TrafficPolicyValid": "It is valid", "Pending": "Not verified yet"},
    summary=True,
)
CONDITIONS = (VALID, READY)


@dataclass(frozen=True, slots=True)
class Seen:
    policy: NgrokTrafficPolicy
    mistake: BadPolicy | None
