"""The controller of the registrar: what it observes, and its declaration."""

from __future__ import annotations

from seamark.api.score import Workload, WorkloadExposure, WorkloadPlan
from seamark.families.score.model.dependencies import Dependencies
from seamark.families.score.registrar.reconcile import announce, desire, judge
from seamark.families.score.registrar.state import ByName, Seen
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Writes
from seamark_runtime.status import NoStatus
from seamark_runtime.view import View

MANAGER = "score-registrar"


def controllers(_dependencies: Dependencies) -> tuple[Declaration, ...]:
    return (
        Controller(
            name="score-registrar",
            kind=Workload,
            observe=observe,
            desire=desire,
            judge=judge,
            announce=announce,
            status=NoStatus(),
            reads=Reads(kinds=(WorkloadPlan,)),
            writes=Writes(manager=MANAGER, children=(WorkloadExposure,), ownership=ByName()),
        ),
    )


def observe(view: View, workload: Workload, _results: Results) -> Seen | None:
    if workload.deleting:
        return None  # the exposure is deleted with it, by its owner reference
    return Seen(
        workload=workload,
        plan=view.intent(WorkloadPlan, workload.key),
        exposure=view.intent(WorkloadExposure, workload.key),
    )
