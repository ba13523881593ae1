"""Workload → its WorkloadExposure. No client, no clock: the same facts always give the same wants."""

from __future__ import annotations

from seamark.api.meta import ManagedMeta
from seamark.api.score import WorkloadExposure, WorkloadExposureSpec, WorkloadRef
from seamark.core.apply import Answers
from seamark.core.controller import Wanted
from seamark.core.events import Notice
from seamark.families.score.exposures import STATUS_BEFORE, digest
from seamark.families.score.registrar.state import EXPOSURE, Seen


def desire(seen: Seen) -> Wanted:
    if seen.exposure is not None and anothers(seen, seen.exposure):
        return Wanted()  # it goes; the one that comes then begins with no status
    spec = wanted_spec(seen)
    return Wanted(children={EXPOSURE: exposure(seen, spec)}) if spec is not None else Wanted()


def anothers(seen: Seen, exposure: WorkloadExposure) -> bool:
    """What was said there is about another Workload of this name, or by a runtime that is not asked any more."""
    if exposure.spec.workload_ref.uid != seen.workload.uid:
        return True
    return seen.planned is not None and seen.planned.spec.runtime_class != exposure.spec.runtime_class


def wanted_spec(seen: Seen) -> WorkloadExposureSpec | None:
    """Before there is a plan for this generation, what is there stays: nobody was asked for the new one yet."""
    if seen.planned is None:
        return None if seen.exposure is None else seen.exposure.spec
    metadata = seen.workload.metadata
    return WorkloadExposureSpec(
        workload_ref=WorkloadRef(name=metadata.name, namespace=metadata.namespace, uid=metadata.uid),
        observed_workload_generation=metadata.generation,
        runtime_class=seen.planned.spec.runtime_class,
    )


def exposure(seen: Seen, spec: WorkloadExposureSpec) -> WorkloadExposure:
    """With every change of the spec goes what the runtime had said until then: so nobody takes that for its answer."""
    before = seen.exposure
    asked_anew = before is not None and before.spec != spec
    said = digest(before.status) if before is not None and asked_anew else ""
    metadata = seen.workload.metadata
    return WorkloadExposure(
        metadata=ManagedMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            annotations={STATUS_BEFORE: said} if asked_anew else None,
        ),
        spec=spec,
    )


def announce(_seen: Seen, answers: Answers) -> list[Notice]:
    refusal = answers.refusal(EXPOSURE)
    return [Notice("ExposureRefused", refusal.message)] if refusal else []


def judge(_seen: Seen, _answers: Answers) -> None:
    """The registrar says nothing in a status."""
