"""The controller that renders plans: what it observes, and its declaration."""

from __future__ import annotations

from seamark.api.score import WorkloadPlan
from seamark.families.score.model.dependencies import Dependencies
from seamark.families.score.model.planvalues import Unfit, read
from seamark.families.score.model.runtime import LABELLED, MANAGER, NAMESPACE_LABEL, RUNTIME_CLASS, WORKLOAD_LABEL
from seamark.families.score.rendering.reconcile import desire, report
from seamark.families.score.rendering.state import Seen
from seamark_runtime.api.apps import Deployment, PersistentVolumeClaim, StatefulSet
from seamark_runtime.api.core import ConfigMap, Service
from seamark_runtime.api.gateway import HTTPRoute
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration, Output, Reads, Writes
from seamark_runtime.ownership import ByLabels
from seamark_runtime.view import View

CHILDREN: tuple[type[Object], ...] = (
    *(Deployment, StatefulSet, Service, ConfigMap, PersistentVolumeClaim),
    HTTPRoute,
)


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    ownership = ByLabels(MANAGER, WORKLOAD_LABEL, NAMESPACE_LABEL)
    return (
        CollectionController(
            name="score-renderer",
            keyed={WorkloadPlan: lambda plan: (plan.key,)},
            observe=observe,
            desire=desire,
            outputs=(Output(dependencies.rendered, report),),
            reads=Reads(optional=(HTTPRoute,), scopes=LABELLED),
            writes=Writes(manager=MANAGER, children=CHILDREN, ownership=ownership),
        ),
    )


def observe(view: View, key: Key, _results: Results) -> Seen | None:
    plan = view.intent(WorkloadPlan, key)
    if plan is None or plan.deleting:
        return None
    if plan.spec.runtime_class != RUNTIME_CLASS:
        return Seen(plan, None)
    values = read(plan)
    return None if isinstance(values, Unfit) else Seen(plan, values)  # what was rendered before stays
