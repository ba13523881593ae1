"""The declaration of the StatefulSet controller."""

from __future__ import annotations

from seamark_cluster.controllers.statefulset.reconcile import announce, desire, judge
from seamark_cluster.controllers.statefulset.state import Seen
from seamark_cluster.controllers.workload.adoption import PODS_ALONE, orphans, performing
from seamark_cluster.controllers.workload.kinds import ControllerRevision, Pod, StatefulSet
from seamark_cluster.controllers.workload.ownership import Controlling, by_controller
from seamark_cluster.controllers.workload.pods import BY_CONTROLLER, available
from seamark_cluster.controllers.workload.status import MANAGER, WholeStatus
from seamark_runtime.calls import Results
from seamark_runtime.client import Client
from seamark_runtime.controller import Controller, Reads, Writes
from seamark_runtime.view import View

REVISIONS = by_controller(ControllerRevision)


def controller(client: Client) -> Controller[Seen]:
    def observe(view: View, owner: StatefulSet, _results: Results) -> Seen | None:
        if owner.deleting:
            return None
        pods = view.by(BY_CONTROLLER, owner.uid)
        ready = available(view, pods, owner.spec.min_ready_seconds, view.date)
        alone = orphans(view, PODS_ALONE, owner.metadata.namespace, owner.spec.selector)
        named = tuple(pod for pod in alone if is_named_after(owner, pod))
        return Seen(owner, view.by(REVISIONS, owner.uid), pods, named, ready)

    return Controller(
        name="statefulsets",
        kind=StatefulSet,
        observe=observe,
        desire=desire,
        judge=judge,
        announce=announce,
        status=WholeStatus(),
        perform=performing(client),
        reads=Reads(indexes=(REVISIONS, BY_CONTROLLER, PODS_ALONE)),
        writes=Writes(children=(ControllerRevision, Pod), ownership=Controlling(), manager=MANAGER),
    )


def is_named_after(owner: StatefulSet, pod: Pod) -> bool:
    name = owner.metadata.name
    return pod.metadata.name.startswith(f"{name}-") and pod.metadata.name.removeprefix(f"{name}-").isdigit()
