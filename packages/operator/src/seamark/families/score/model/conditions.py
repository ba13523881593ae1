"""All conditions of a Workload. The reasons are the abstract ones that all runtimes are mapped to."""

from __future__ import annotations

from seamark_runtime.conditions import ConditionType

REASONS = {
    "Succeeded": "Everything is as desired",
    "SpecInvalid": "The Workload asks for something that can't be; the message says what and where",
    "PolicyViolation": "A policy of the platform forbids it",
    "ClaimPending": "A resource that it needs is not there yet",
    "Claiming": "A resource that it needs is being made",
    "ClaimFailed": "A resource that it needs can't be made",
    "ProjectionError": "What its resources gave can't be put into the Workload",
    "RuntimeSelecting": "No runtime was chosen yet",
    "RuntimeProvisioning": "The runtime is at work, or has not answered for this generation",
    "RuntimeDegraded": "The runtime reports that it does not run as it should, or does not run",
    "QuotaExceeded": "A quota is used up",
    "PermissionDenied": "The runtime lacks a permission",
    "NetworkUnavailable": "An address, a route, a host name or a port of it is not ready, or not verified to be",
    "Pending": "Not verified yet",
}

INPUTS_VALID = ConditionType("InputsValid", meaning="The Workload can be planned as it is written", reasons=REASONS)
CLAIMS_READY = ConditionType("ClaimsReady", meaning="All resources that it needs are there", reasons=REASONS)
RUNTIME_READY = ConditionType(
    "RuntimeReady",
    meaning="The runtime reports that this generation runs",
    reasons=REASONS,
    awaiting="RuntimeSelecting",
    first_message="Waiting for a runtime to publish",
)
READY = ConditionType(
    "Ready",
    meaning="InputsValid, ClaimsReady and RuntimeReady, all for the present generation",
    reasons=REASONS,
    summary=True,
)
CONDITIONS = (READY, INPUTS_VALID, CLAIMS_READY, RUNTIME_READY)
