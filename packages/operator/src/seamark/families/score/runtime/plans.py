"""The status of a WorkloadPlan: only that this runtime can't read its values, or can again.

An orchestrator writes plans that can be read; about those nothing is written. How they run is shown on the exposure.
"""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.score import WorkloadPlan, WorkloadPlanStatus
from seamark.families.score.runtime.state import MANAGER, PLAN_ACCEPTED, PLAN_CONDITIONS, RUNTIME_CLASS
from seamark.families.score.runtime.values import Unfit, read
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Wanted
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


@dataclass(frozen=True)
class SeenPlan:
    """A plan about which there is something to say; `unfit` is what is wrong with it, if anything is."""

    plan: WorkloadPlan
    unfit: str = ""


def observe(_view: View, plan: WorkloadPlan, _results: Results) -> SeenPlan | None:
    if plan.deleting or plan.spec.runtime_class != RUNTIME_CLASS:
        return None
    values = read(plan)
    if isinstance(values, Unfit):
        return SeenPlan(plan, str(values))
    said = plan.status.conditions if plan.status is not None else ()
    return SeenPlan(plan) if any(one.type == PLAN_ACCEPTED.name for one in said) else None


def judge(seen: SeenPlan, _answers: Answers) -> WorkloadPlanStatus:
    if seen.unfit:
        accepted = PLAN_ACCEPTED.false("InvalidValues", seen.unfit)
    else:
        accepted = PLAN_ACCEPTED.true("Accepted", "The values of the plan can be rendered")
    return WorkloadPlanStatus(conditions=(accepted,))


def controller() -> Controller[SeenPlan]:
    return Controller(
        name="score-plans",
        kind=WorkloadPlan,
        manager=MANAGER,
        observe=observe,
        desire=lambda _seen: Wanted(),
        judge=judge,
        status=ByManager(
            manager=MANAGER, conditions=PLAN_CONDITIONS, fence=f"object.spec.runtimeClass == '{RUNTIME_CLASS}'"
        ),
    )
