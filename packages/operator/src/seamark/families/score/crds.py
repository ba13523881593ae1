"""The kinds as the API server knows them."""

from __future__ import annotations

from seamark.api.score import ResourceClaim, Workload, WorkloadExposure, WorkloadPlan
from seamark.families.score.runtime.state import PLAN_CONDITIONS
from seamark.families.score.words import CONDITIONS
from seamark_runtime.api.crd import CRD, Column

WORKLOAD = CRD(
    kind=Workload,
    short_names=("wl",),
    categories=("seamark",),
    columns=(
        Column.condition("Ready"),
        Column("Endpoint", ".status.endpoint"),
        Column("Claims", ".status.claims[*].phase"),
        Column.condition("Ready", says="reason", column="Reason", priority=1),
        Column.condition("Ready", says="message", column="Message", priority=1),
    ),
    conditions=CONDITIONS,
)
RESOURCE_CLAIM = CRD(
    kind=ResourceClaim,
    short_names=("rc",),
    columns=(
        Column("Phase", ".status.phase"),
        Column("Type", ".spec.type"),
        Column("Workload", ".spec.workloadRef.name"),
        Column("Outputs", ".status.outputsAvailable", "boolean"),
        Column("Message", ".status.message", priority=1),
    ),
)
WORKLOAD_PLAN = CRD(
    kind=WorkloadPlan,
    short_names=("wplan",),
    columns=(
        Column("Phase", ".status.phase"),
        Column("Runtime", ".spec.runtimeClass"),
        Column("Workload", ".spec.workloadRef.name"),
    ),
    conditions=PLAN_CONDITIONS,
)
WORKLOAD_EXPOSURE = CRD(
    kind=WorkloadExposure,
    columns=(
        Column("Workload", ".spec.workloadRef.name"),
        Column("Runtime", ".spec.runtimeClass"),
        Column("TopURL", ".status.exposures[0].url"),
        Column.condition("Ready"),
    ),
)
CRDS = (WORKLOAD, RESOURCE_CLAIM, WORKLOAD_PLAN, WORKLOAD_EXPOSURE)
