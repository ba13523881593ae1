"""What registrar and mirror agree on: whether a runtime's status shows which generation it is about."""

from __future__ import annotations

from seamark.api.score import WorkloadExposureStatus


def published(status: WorkloadExposureStatus | None) -> bool:
    """Whether a runtime has written anything."""
    return status is not None and status != WorkloadExposureStatus()


def names_generation(status: WorkloadExposureStatus) -> bool:
    """Whether it has a generation: of the Workload, or on one of its conditions."""
    observed = (condition.observed_generation for condition in status.conditions)
    return status.observed_workload_generation is not None or any(generation is not None for generation in observed)
