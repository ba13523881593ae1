"""Whether a runtime has answered for the Workload as it is now.

- Only the exposure that names the Workload's uid counts: a namesake's does not.
- Which generation an answer is for, the runtime reports: by `status.observedWorkloadGeneration`, or by an
  observedGeneration on one of its conditions, which is that of the exposure.
- A status without either is about the spec beside it: for another generation the registrar creates a new exposure, so
  a write of the registrar never makes an old answer a new one.
"""

from __future__ import annotations

from seamark.api.score import Workload, WorkloadExposure, WorkloadExposureStatus
from seamark.families.score.model.exposures import published


def missing(workload: Workload, exposure: WorkloadExposure | None) -> str:
    """What stands between us and an answer, in words; empty when there is one for this generation."""
    generation = workload.metadata.generation
    if exposure is None or exposure.deleting:
        return "No runtime was asked to publish yet"
    if exposure.spec.workload_ref.uid != workload.uid:
        return "The runtime was asked about another Workload of this name"
    runtime = exposure.spec.runtime_class
    status = exposure.status
    if status is None or not published(status):
        return f"The runtime {runtime} has not published anything yet"
    if status.observed_workload_generation is not None:
        answered = status.observed_workload_generation == generation
    else:
        requested = exposure.spec.observed_workload_generation == generation
        answered = requested and _answers_the_spec(exposure, status)
    return "" if answered else f"The runtime {runtime} has not answered for generation {generation} yet"


def _answers_the_spec(exposure: WorkloadExposure, status: WorkloadExposureStatus) -> bool:
    observed = [
        condition.observed_generation for condition in status.conditions if condition.observed_generation is not None
    ]
    return not observed or max(observed) >= exposure.metadata.generation
