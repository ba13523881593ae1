"""The conditions of a BackendTLSPolicy. What it is judged from is in `policies.state` and `model.policies`."""

from __future__ import annotations

from seamark.families.gateway.policies.state import POLICY_ACCEPTED
from seamark_runtime.conditions import ConditionType

POLICY_RESOLVED = ConditionType(
    "ResolvedRefs",
    meaning="Everything the policy refers to exists and may be used",
    reasons={
        "ResolvedRefs": "All references were found",
        "InvalidCACertificateRef": "An authority is missing or can't be used",
        "InvalidKind": "An authority is of a kind that can't be used",
    },
)
CONDITIONS = (POLICY_ACCEPTED, POLICY_RESOLVED)
