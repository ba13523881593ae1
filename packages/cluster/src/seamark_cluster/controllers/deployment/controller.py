"""The declaration of the Deployment controller."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from seamark_cluster.controllers.deployment.reconcile import announce, desire, judge, progressed_since
from seamark_cluster.controllers.deployment.state import REVISION, ROLLED_OUT, Seen
from seamark_cluster.controllers.workload.adoption import alone_by_label, orphans, performing
from seamark_cluster.controllers.workload.kinds import Deployment, Pod, ReplicaSet
from seamark_cluster.controllers.workload.ownership import Controlling, by_controller
from seamark_cluster.controllers.workload.pods import BY_CONTROLLER
from seamark_cluster.controllers.workload.status import MANAGER, WholeStatus
from seamark_runtime.calls import Results
from seamark_runtime.client import Client
from seamark_runtime.controller import Controller, Reads, Writes
from seamark_runtime.view import View

REPLICA_SETS = by_controller(ReplicaSet)
ALONE = alone_by_label(ReplicaSet)


def controller(client: Client) -> Controller[Seen]:
    def observe(view: View, deployment: Deployment, _results: Results) -> Seen | None:
        if deployment.deleting:
            return None
        found = [entry for entry in view.by(REPLICA_SETS, deployment.uid) if not entry.deleting]
        found.sort(key=lambda item: (item.metadata.creation_timestamp or "", item.metadata.name))
        alone = orphans(view, ALONE, deployment.metadata.namespace, deployment.spec.selector)
        late = overdue(view, deployment, view.date)
        seen = Seen(deployment, tuple(found), alone, old_pods_run=False, overdue=late)
        if deployment.spec.strategy.type != "Recreate":
            return seen
        runs = any(not pod.finished for replica_set in seen.older for pod in view.by(BY_CONTROLLER, replica_set.uid))
        return replace(seen, old_pods_run=runs)

    return Controller(
        name="deployments",
        kind=Deployment,
        observe=observe,
        desire=desire,
        judge=judge,
        announce=announce,
        status=WholeStatus(annotations=(REVISION,), progressed=progressed_since),
        perform=performing(client),
        reads=Reads(kinds=(Pod,), indexes=(REPLICA_SETS, BY_CONTROLLER, ALONE)),
        writes=Writes(children=(ReplicaSet,), ownership=Controlling(), manager=MANAGER),
    )


def overdue(view: View, deployment: Deployment, now: datetime) -> bool:
    """Whether the progress deadline has passed; if not, the key is requeued for when it does."""
    progressing = next(
        (condition for condition in deployment.status.conditions if condition.type == "Progressing"), None
    )
    limit = deployment.spec.progress_deadline_seconds
    if (
        progressing is None
        or not progressing.last_update_time
        or progressing.reason == ROLLED_OUT
        or limit >= 2**31 - 1
    ):
        return False
    left = (datetime.fromisoformat(progressing.last_update_time) + timedelta(seconds=limit) - now).total_seconds()
    if left > 0:
        view.requeue_at = min(view.requeue_at, view.now + left)
    return left <= 0
