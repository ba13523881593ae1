"""The controller that renders plans: what it observes, and its declaration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from seamark.api.score import WorkloadPlan
from seamark.families.score.model.dependencies import Dependencies
from seamark.families.score.model.identity import SHARED
from seamark.families.score.model.planvalues import Unfit, read
from seamark.families.score.model.runtime import LABELLED, MANAGER, NAMESPACE_LABEL, RUNTIME_CLASS, WORKLOAD_LABEL
from seamark.families.score.rendering.reconcile import desire, report
from seamark.families.score.rendering.state import Seen
from seamark_runtime.api.apps import Deployment, PersistentVolumeClaim, StatefulSet
from seamark_runtime.api.core import ConfigMap, Service
from seamark_runtime.api.gateway import HTTPRoute
from seamark_runtime.api.meta import Key, Object, OwnerReference
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration, Output, Reads, Writes
from seamark_runtime.ownership import MANAGED_BY, ByLabels, refers_to
from seamark_runtime.view import View

CHILDREN: tuple[type[Object], ...] = (
    *(Deployment, StatefulSet, Service, ConfigMap, PersistentVolumeClaim),
    HTTPRoute,
)


class ByPlan(ByLabels):
    """Labels have the name of the plan. A reference, by which Kubernetes collects, is to the plan that is there now.

    A shared volume belongs to every plan that it refers to, and may be adopted by another that has the same identity.
    """

    def owners(self, child: Object) -> Iterable[Key]:
        if not child.label(SHARED) or child.label(MANAGED_BY) != self.manager:
            return super().owners(child)
        references = (each for each in child.metadata.owner_references or () if is_plan(each))
        return (Key(child.metadata.namespace, each.name) for each in references)

    def claim(self, owner: Object, child: Any) -> Any:
        if not child.label(SHARED):
            return super().claim(owner, child)
        labels = {**(child.metadata.labels or {}), MANAGED_BY: self.manager}
        return msgspec.structs.replace(child, metadata=msgspec.structs.replace(child.metadata, labels=labels))

    def owns(self, owner: Object, child: Object) -> bool:
        shared = child.label(SHARED) and child.label(MANAGED_BY) == self.manager
        return bool(shared) or super().owns(owner, child)

    def refers(self, owner: Object, reference: OwnerReference) -> bool:
        return is_plan(reference) and reference.name == owner.metadata.name


def is_plan(reference: OwnerReference) -> bool:
    resource = WorkloadPlan.RESOURCE
    return refers_to(reference, resource.group, resource.kind, reference.name)


OWNERSHIP = ByPlan(MANAGER, WORKLOAD_LABEL, NAMESPACE_LABEL)
VOLUMES = Index(
    PersistentVolumeClaim,
    lambda volume: (owner for owner in OWNERSHIP.owners(volume) if owner.namespace == volume.metadata.namespace),
    "volumes by plan",
)


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return (
        CollectionController(
            name="score-renderer",
            keyed={WorkloadPlan: lambda plan: (plan.key,)},
            observe=observe,
            desire=desire,
            outputs=(Output(dependencies.rendered, report),),
            reads=Reads(optional=(HTTPRoute,), scopes=LABELLED, indexes=(VOLUMES,)),
            writes=Writes(manager=MANAGER, children=CHILDREN, ownership=OWNERSHIP),
        ),
    )


def observe(view: View, key: Key, _results: Results) -> Seen | None:
    plan = view.intent(WorkloadPlan, key)
    if plan is None or plan.deleting:
        return None
    volumes = view.by(VOLUMES, key)
    if plan.spec.runtime_class != RUNTIME_CLASS:
        return Seen(plan, None, volumes)
    values = read(plan)
    return None if isinstance(values, Unfit) else Seen(plan, values, volumes)  # what was rendered before stays
