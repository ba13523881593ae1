"""The wiring of StatefulSets."""

from __future__ import annotations

from seamark.cluster.controllers.adoption import PODS_ALONE, orphans, performing
from seamark.cluster.controllers.kinds import ControllerRevision, Pod, StatefulSet
from seamark.cluster.controllers.ownership import Controlling, by_controller
from seamark.cluster.controllers.pods import BY_CONTROLLER, available
from seamark.cluster.controllers.saying import MANAGER, Whole
from seamark.cluster.controllers.statefulset.reconcile import announce, desire, judge
from seamark.cluster.controllers.statefulset.state import Seen
from seamark.core.calls import Results
from seamark.core.client import Client
from seamark.core.clock import Clock
from seamark.core.controller import Controller
from seamark.core.view import View

REVISIONS = by_controller(ControllerRevision)


def controller(clock: Clock, client: Client) -> Controller[Seen]:
    def observe(view: View, owner: StatefulSet, _results: Results) -> Seen | None:
        if owner.deleting:
            return None
        pods = view.by(BY_CONTROLLER, owner.uid)
        ready = available(view, pods, owner.spec.min_ready_seconds, clock.wall())
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
        status=Whole(),
        children=(ControllerRevision, Pod),
        indexes=(REVISIONS, BY_CONTROLLER, PODS_ALONE),
        perform=performing(client),
        ownership=Controlling(),
        manager=MANAGER,
    )


def is_named_after(owner: StatefulSet, pod: Pod) -> bool:
    name = owner.metadata.name
    return pod.metadata.name.startswith(f"{name}-") and pod.metadata.name.removeprefix(f"{name}-").isdigit()
