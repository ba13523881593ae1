"""Workload → its WorkloadExposure. No client, no clock: the same facts always give the same wants."""

from __future__ import annotations

from seamark.api.score import WorkloadExposure, WorkloadExposureSpec, WorkloadRef
from seamark.families.score.model.exposures import names_generation, published
from seamark.families.score.registrar.state import EXPOSURE, Seen
from seamark_runtime.api.meta import ManagedMeta
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted
from seamark_runtime.events import Notice


def desire(seen: Seen) -> Wanted:
    if seen.exposure is not None and (anothers(seen, seen.exposure) or undatable(seen, seen.exposure)):
        return Wanted()  # it is deleted; the next one begins with no status
    spec = wanted_spec(seen)
    return Wanted(children={EXPOSURE: exposure(seen, spec)}) if spec is not None else Wanted()


def anothers(seen: Seen, exposure: WorkloadExposure) -> bool:
    """Its status is about another Workload of this name, or by a runtime that is not used any more."""
    if exposure.spec.workload_ref.uid != seen.workload.uid:
        return True
    return seen.planned is not None and seen.planned.spec.runtime_class != exposure.spec.runtime_class


def undatable(seen: Seen, exposure: WorkloadExposure) -> bool:
    """Its status does not show which generation it is about, and another one is planned: if the status stayed, nothing
    would show whether the runtime has looked at that one."""
    if seen.planned is None or exposure.spec.observed_workload_generation == seen.workload.metadata.generation:
        return False
    return exposure.status is not None and published(exposure.status) and not names_generation(exposure.status)


def wanted_spec(seen: Seen) -> WorkloadExposureSpec | None:
    """Before there is a plan for this generation, the exposure stays: the new one was not requested yet."""
    if seen.planned is None:
        return None if seen.exposure is None else seen.exposure.spec
    metadata = seen.workload.metadata
    return WorkloadExposureSpec(
        workload_ref=WorkloadRef(name=metadata.name, namespace=metadata.namespace, uid=metadata.uid),
        observed_workload_generation=metadata.generation,
        runtime_class=seen.planned.spec.runtime_class,
    )


def exposure(seen: Seen, spec: WorkloadExposureSpec) -> WorkloadExposure:
    metadata = seen.workload.metadata
    return WorkloadExposure(metadata=ManagedMeta(name=metadata.name, namespace=metadata.namespace), spec=spec)


def announce(_seen: Seen, answers: Answers) -> list[Notice]:
    refusal = answers.refusal(EXPOSURE)
    return [Notice("ExposureRefused", refusal.message)] if refusal else []


def judge(_seen: Seen, _answers: Answers) -> None:
    """The registrar writes no status."""
