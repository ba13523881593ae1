"""The controller of WorkloadPlans: what it observes, and its declaration."""

from __future__ import annotations

from seamark.api.score import WorkloadPlan
from seamark.families.score.model.dependencies import Dependencies
from seamark.families.score.model.planvalues import Unfit, read
from seamark.families.score.model.runtime import MANAGER, RUNTIME_CLASS, STATUS_POLICY
from seamark.families.score.workloadplan.reconcile import desire, judge
from seamark.families.score.workloadplan.state import ACCEPTED, CONDITIONS, Seen
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Writes
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


def controllers(_dependencies: Dependencies) -> tuple[Declaration, ...]:
    return (
        Controller(
            name="score-plans",
            kind=WorkloadPlan,
            observe=observe,
            desire=desire,
            judge=judge,
            status=ByManager(manager=MANAGER, conditions=CONDITIONS, policy_condition=STATUS_POLICY),
            writes=Writes(manager=MANAGER),
        ),
    )


def observe(_view: View, plan: WorkloadPlan, _results: Results) -> Seen | None:
    if plan.deleting or plan.spec.runtime_class != RUNTIME_CLASS:
        return None
    values = read(plan)
    if isinstance(values, Unfit):
        return Seen(plan, str(values))
    conditions = plan.status.conditions if plan.status is not None else ()
    return Seen(plan) if any(condition.type == ACCEPTED.name for condition in conditions) else None
