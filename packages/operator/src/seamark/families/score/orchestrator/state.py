"""What the orchestrator decides from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seamark.api.score import Dependency, ResourceClaim, Workload, WorkloadPlan
from seamark.families.score.platform.configuration import Config
from seamark_runtime.cache import Index
from seamark_runtime.ownership import within

PLAN = "plan"  # the role of the plan; a claim's role is "claim <key>"

CLAIMS = Index(ResourceClaim, lambda claim: (within(claim, claim.spec.workload_ref.uid),), "claims of a workload")


@dataclass(frozen=True)
class Outputs:
    """What a bound claim gives: plain values, and the keys of a Secret that is only referred to."""

    values: Mapping[str, str]
    secret: str = ""
    secret_keys: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        return sorted({*self.values, *self.secret_keys})


@dataclass(frozen=True)
class Sharer:
    """One definition of a resource that has an id, and its claim if there is one."""

    workload: Workload
    key: str
    resource: Dependency
    claim: ResourceClaim | None = None


@dataclass(frozen=True)
class Seen:
    workload: Workload
    config: Config | None
    trouble: str = ""  # what is wrong with the configuration
    plan: WorkloadPlan | None = None
    left_behind: bool = False  # the plan stays although its Workload is gone: that was deleted without it
    claims: Mapping[str, ResourceClaim] = field(default_factory=dict)  # by the resource's key
    sharing: Mapping[str, Sequence[Sharer]] = field(default_factory=dict)  # by key; all definitions, the oldest first
    outputs: Mapping[str, Outputs] = field(default_factory=dict)  # of those that are bound

    @property
    def resources(self) -> Mapping[str, Dependency]:
        return self.workload.spec.resources or {}


def claim_role(key: str) -> str:
    return f"claim {key}"


def claim_name(workload: Workload, key: str) -> str:
    return f"{workload.metadata.name}.{key}"  # a key has no dot, so no two are alike
