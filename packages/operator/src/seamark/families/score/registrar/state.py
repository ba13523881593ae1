"""What the registrar decides from."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from seamark.api.score import Workload, WorkloadExposure, WorkloadPlan
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.ownership import ByReference

EXPOSURE = "exposure"  # the role of the one child


@dataclass(frozen=True)
class Seen:
    workload: Workload
    plan: WorkloadPlan | None
    exposure: WorkloadExposure | None

    @property
    def planned(self) -> WorkloadPlan | None:
        """The plan, if it is for this very Workload as it is now."""
        plan, metadata = self.plan, self.workload.metadata
        if plan is None or plan.spec.workload_ref.uid != metadata.uid:
            return None
        return plan if plan.spec.observed_workload_generation == metadata.generation else None


class ByName(ByReference):
    """Exposures are the registrar's alone, so the one with a Workload's name is its own, whatever it refers to."""

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> Iterable[Hashable]:
        yield Key(child.metadata.namespace, child.metadata.name)
