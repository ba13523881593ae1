"""The wiring of Deployments."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from seamark.cluster.controllers.adoption import alone_by_label, orphans, performing
from seamark.cluster.controllers.deployment.reconcile import announce, desire, judge, moved_on
from seamark.cluster.controllers.deployment.state import REVISION, Seen
from seamark.cluster.controllers.kinds import Deployment, Pod, ReplicaSet
from seamark.cluster.controllers.ownership import Controlling, by_controller
from seamark.cluster.controllers.pods import BY_CONTROLLER
from seamark.cluster.controllers.saying import MANAGER, Whole
from seamark.core.calls import Results
from seamark.core.client import Client
from seamark.core.clock import Clock
from seamark.core.controller import Controller
from seamark.core.view import View

REPLICA_SETS = by_controller(ReplicaSet)
ALONE = alone_by_label(ReplicaSet)


def controller(clock: Clock, client: Client) -> Controller[Seen]:
    def observe(view: View, deployment: Deployment, _results: Results) -> Seen | None:
        if deployment.deleting:
            return None
        found = [one for one in view.by(REPLICA_SETS, deployment.uid) if not one.deleting]
        found.sort(key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.name))
        alone = orphans(view, ALONE, deployment.metadata.namespace, deployment.spec.selector)
        late = overdue(view, deployment, clock.wall())
        seen = Seen(deployment, tuple(found), alone, old_pods_run=False, overdue=late)
        if deployment.spec.strategy.type != "Recreate":
            return seen
        runs = any(not pod.finished for one in seen.older for pod in view.by(BY_CONTROLLER, one.uid))
        return replace(seen, old_pods_run=runs)

    return Controller(
        name="deployments",
        kind=Deployment,
        observe=observe,
        desire=desire,
        judge=judge,
        announce=announce,
        status=Whole(annotations=(REVISION,), progressed=moved_on),
        children=(ReplicaSet,),
        reads=(Pod,),
        indexes=(REPLICA_SETS, BY_CONTROLLER, ALONE),
        perform=performing(client),
        ownership=Controlling(),
        manager=MANAGER,
    )


def overdue(view: View, deployment: Deployment, now: datetime) -> bool:
    """Whether the last progress is too long ago; the key comes again at the moment when it will be."""
    said = next((one for one in deployment.status.conditions if one.type == "Progressing"), None)
    limit = deployment.spec.progress_deadline_seconds
    if said is None or not said.last_update_time or said.reason == "NewReplicaSetAvailable" or limit >= 2**31 - 1:
        return False
    left = (datetime.fromisoformat(said.last_update_time) + timedelta(seconds=limit) - now).total_seconds()
    if left > 0:
        view.again = min(view.again, view.now + left)
    return left <= 0
