"""The conditions of a TrafficPolicy. What it is judged from is in `policies.state` and `model.policies`."""

from __future__ import annotations

from seamark.families.gateway.policies.state import POLICY_ACCEPTED
from seamark_runtime.conditions import ConditionType

POLICY_ATTACHED = ConditionType(
    "Attached",
    meaning="How the policy is combined with others of the same target",
    reasons={
        "Attached": "The policy applies unchanged",
        "Merged": "Other policies set further fields, or replace some of its own; the message names them",
        "TargetNotFound": "The listener or rule that it names does not exist, so it has no effect",
        "Overridden": "Other policies set all of its fields; the message names them",
    },
)
CONDITIONS = (POLICY_ACCEPTED, POLICY_ATTACHED)
