"""What the mirror decides from, and the table by which a runtime's conditions become abstract ones."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.score import Workload, WorkloadExposure
from seamark.families.score.model.conditions import RUNTIME_READY
from seamark.families.score.platform.policy import NO_POLICY, EndpointPolicy
from seamark_runtime.api.meta import Condition, Wire

# What a runtime may call a state that is good: the type of a condition that is True, or its reason.
GOOD = frozenset(("Healthy", "Available", "Ready", "RuntimeReady"))

# What a runtime may call a state that is not, and the abstract reason for it. The first that applies is shown.
TABLE = {
    "PermissionDenied": "PermissionDenied",
    "PermissionError": "PermissionDenied",
    "Forbidden": "PermissionDenied",
    "QuotaExceeded": "QuotaExceeded",
    "QuotaError": "QuotaExceeded",
    "PolicyViolation": "PolicyViolation",
    "PolicyError": "PolicyViolation",
    "Degraded": "RuntimeDegraded",
    "RuntimeDegraded": "RuntimeDegraded",
    "LBPending": "NetworkUnavailable",
    "IngressPending": "NetworkUnavailable",
    "DNSNotReady": "NetworkUnavailable",
    "NetworkUnavailable": "NetworkUnavailable",
    "Selecting": "RuntimeProvisioning",
    "Provisioning": "RuntimeProvisioning",
    "Applying": "RuntimeProvisioning",
    "RuntimeProvisioning": "RuntimeProvisioning",
    "Unavailable": "RuntimeDegraded",  # a good state that is not, without a reason
}


class Mirrored(Wire, frozen=True, kw_only=True):
    """The mirror's part of a Workload's status. The observed generation is written by the orchestrator."""

    endpoint: str | None = None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Seen:
    workload: Workload
    exposure: WorkloadExposure | None
    policy: EndpointPolicy = NO_POLICY

    @property
    def endpoint(self) -> str | None:
        """What the Workload shows now."""
        return self.workload.status.endpoint if self.workload.status else None

    @property
    def requested(self) -> bool:
        """Whether a runtime was asked about this very Workload, so that its silence means something."""
        exposure = self.exposure
        return exposure is not None and exposure.spec.workload_ref.uid == self.workload.uid and not exposure.deleting

    @property
    def untouched(self) -> bool:
        """Only the default condition of the API server is there: not reconciled yet."""
        if self.endpoint is not None:
            return False
        current = self.current
        return current is not None and current.observed_generation is None

    @property
    def current(self) -> Condition | None:
        conditions = self.workload.status.conditions if self.workload.status else ()
        return next((condition for condition in conditions if condition.type == RUNTIME_READY.name), None)
