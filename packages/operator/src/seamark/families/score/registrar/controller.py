"""The wiring of the registrar."""

from __future__ import annotations

from seamark.api.score import Workload, WorkloadExposure, WorkloadPlan
from seamark.families.score.registrar.reconcile import announce, desire, judge
from seamark.families.score.registrar.state import ByName, Seen
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller
from seamark_runtime.status import NoStatus
from seamark_runtime.view import View

MANAGER = "score-registrar"


def observe(view: View, workload: Workload, _results: Results) -> Seen | None:
    if workload.deleting:
        return None  # the exposure is deleted with it, by its owner reference
    return Seen(
        workload=workload,
        plan=view.intent(WorkloadPlan, workload.key),
        exposure=view.intent(WorkloadExposure, workload.key),
    )


def controller() -> Controller[Seen]:
    return Controller(
        name="score-registrar",
        manager=MANAGER,
        kind=Workload,
        reads=(WorkloadPlan,),
        children=(WorkloadExposure,),
        ownership=ByName(),
        observe=observe,
        desire=desire,
        judge=judge,
        announce=announce,
        status=NoStatus(),
    )
