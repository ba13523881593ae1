"""NgrokTrafficPolicy → whether it can be used. Nothing is created for it."""

from __future__ import annotations

from seamark.families.loadbalancer.model.policies import UncheckedPolicy
from seamark.families.loadbalancer.trafficpolicy.state import READY, VALID, Seen
from seamark_edge.api.ngrok import NgrokTrafficPolicyStatus
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


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
