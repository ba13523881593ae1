"""What the simulations of the Score family share: the history of Workloads, what is left at rest, and the acts."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.simulation.faults import Fault
from tests.simulation.invariants import StatusHistory, conditions_of

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World

WORKLOADS, EXPOSURES = "workloads.score.dev", "workloadexposures.score.dev"
PLANS, CLAIMS = "workloadplans.score.dev", "resourceclaims.score.dev"
DEPLOYMENTS, SERVICES = "deployments.apps", "services"
OWNED = (WORKLOADS, PLANS, EXPOSURES, CLAIMS, "configmaps", DEPLOYMENTS, SERVICES, "pods")
NAMESPACE = "default"
ROOT = f"/apis/score.dev/v1b1/namespaces/{NAMESPACE}"
OUTAGES = (Fault.OUTSIDE_REFUSES, Fault.OUTSIDE_HANGS, Fault.OUTSIDE_LEAKS, Fault.OUTSIDE_LOSES)


class WorkloadScenario(ABC):
    """Checks every status that is written to a Workload, and all Workloads at rest."""

    def __init__(self) -> None:
        self._history = StatusHistory()
        self._world: World
        self._first_revision = 0

    def attach(self, world: World) -> None:
        self._world = world
        self._first_revision = world.store.revisions.current
        world.outside.world = world
        world.store.revisions.subscribe(WORKLOADS, self._workload_changed)

    def restore(self, world: World) -> None:
        revisions = world.store.revisions
        world.store.restore(max(revisions.compacted, self._first_revision, revisions.current - 6))
        self._history.forget()

    def empty(self, world: World) -> None:
        delete_all(world)
        collect_garbage(world)

    def _workload_changed(self, event: Event) -> None:
        world = self._world
        if event.new is None:
            return
        with world.watching():
            self._history.check(event.old, event.new, world.clock.wall(), ours=world.operator_is_writing)
            if world.operator_is_writing:
                self._no_lie(event.new)

    @abstractmethod
    def _no_lie(self, workload: Any) -> None:
        """Raises Violation for a status that is not true."""

    # ---- at rest

    def unsettled(self, world: World) -> str:
        if collect_garbage(world):
            return "garbage was collected"
        for workload in world.store.objects(WORKLOADS):
            if problem := self._workload_unsettled(world, workload):
                return f"{workload['metadata']['name']}: {problem}"
        return ""

    @abstractmethod
    def _workload_unsettled(self, world: World, workload: Any) -> str:
        """What is not as it should be at rest; empty when all is."""

    def quiet_from(self, world: World) -> float:
        return world.clock.monotonic()

    def left(self, world: World) -> str:
        collect_garbage(world)
        left = [f"{kind} {obj['metadata']['name']}" for kind in OWNED for obj in world.store.objects(kind)]
        return f"{left} are still there" if left else ""

    def summary(self, world: World) -> Any:
        def of(kind: str) -> list[str]:
            return sorted(obj["metadata"]["name"] for obj in world.store.objects(kind))

        workloads = {
            obj["metadata"]["name"]: {name: condition["status"] for name, condition in conditions_of(obj).items()}
            for obj in world.store.objects(WORKLOADS)
        }
        return {"workloads": workloads, **{kind: of(kind) for kind in OWNED if kind != WORKLOADS}}


def unexpected_condition(workload: Any, expected: dict[str, str]) -> str:
    """The first condition with another status or generation than it should have; empty if there is none."""
    generation, conditions = workload["metadata"]["generation"], conditions_of(workload)
    for name, wanted in expected.items():
        condition = conditions.get(name, {})
        if condition.get("observedGeneration") != generation:
            return f"{name} is of generation {condition.get('observedGeneration')}, not {generation}"
        if condition["status"] != wanted:
            return f"{name} is {condition['status']}, and should be {wanted}: {condition['message']}"
    return ""


def owners(obj: Any) -> list[str]:
    return [ref["uid"] for ref in obj["metadata"].get("ownerReferences") or ()]


# ---- acts


def image(name: str) -> dict[str, Any]:
    return {"main": {"image": name}}


def create(world: World, name: str, **spec: Any) -> None:
    if world.under(Fault.NAMESPACE) or world.store.get(WORKLOADS, NAMESPACE, name) is not None:
        return
    metadata = {"name": name, "namespace": NAMESPACE}
    body = {"apiVersion": "score.dev/v1b1", "kind": "Workload", "metadata": metadata}
    world.store.create({**body, "spec": {"containers": image("a"), **spec}})


def edit(world: World, name: str, **spec: Any) -> None:
    patch(world, f"{ROOT}/workloads/{name}", {"spec": spec})


def delete(world: World, kind: str, name: str) -> None:
    if world.store.get(kind, NAMESPACE, name) is not None:
        world.store.delete(kind, NAMESPACE, name)


def recreate(world: World, name: str) -> None:
    delete(world, WORKLOADS, name)
    create(world, name)


def succeed(world: World, name: str) -> None:
    """`kubectl delete --cascade=orphan`, and the same name again: the children stay, without an owner."""
    workload = world.store.get(WORKLOADS, NAMESPACE, name)
    if workload is None or world.under(Fault.NAMESPACE):
        return
    for kind, plural in ((PLANS, "workloadplans"), (CLAIMS, "resourceclaims"), (EXPOSURES, "workloadexposures")):
        for child in list(world.store.objects(kind)):
            if workload["metadata"]["uid"] in owners(child):
                patch(world, f"{ROOT}/{plural}/{child['metadata']['name']}", {"metadata": {"ownerReferences": None}})
    recreate(world, name)


def wipe_status(world: World, name: str) -> None:
    patch(world, f"{ROOT}/workloads/{name}/status", {"status": None})


def delete_all(world: World) -> None:
    for obj in list(world.store.objects(WORKLOADS)):
        delete(world, WORKLOADS, obj["metadata"]["name"])


def collect_garbage(world: World) -> bool:
    """What kube-controller-manager does, generation by generation; whether there was any."""
    found = False
    while True:
        alive = {obj["metadata"]["uid"] for kind in OWNED for obj in world.store.objects(kind)}
        gone = [
            (kind, obj["metadata"]["name"])
            for kind in OWNED
            for obj in world.store.objects(kind)
            if owners(obj) and not alive & set(owners(obj))
        ]
        for kind, name in gone:
            world.store.delete(kind, NAMESPACE, name)
        if not gone:
            return found
        found = True


def patch(world: World, path: str, body: Any) -> None:
    request = HttpRequest(
        "PATCH", received_path(path), body=json.dumps(body).encode(), content_type="application/merge-patch+json"
    )
    answer = world.store.handle(request)
    assert isinstance(answer, Answer)
    assert answer.status in (200, 404), answer.body
