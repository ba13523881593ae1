"""The Score family in the simulator: Workloads, and a runtime that answers for them; what it published is the oracle.

The runtime is played by the world: it sees every exposure and answers a moment later with a URL that tells for which
Workload and generation it was, so an endpoint that belongs to another uid, or was never published, is seen at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seamark.families.score.crds import CRDS
from seamark.families.score.family import without_runtime
from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.simulation.faults import Fault
from tests.simulation.invariants import StatusHistory, conditions_of
from tests.simulation.scenario import Step, Violation

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World, Write

WORKLOADS, EXPOSURES = "workloads.score.dev", "workloadexposures.score.dev"
PLANS, CLAIMS = "workloadplans.score.dev", "resourceclaims.score.dev"
DEPLOYMENTS, SERVICES = "deployments.apps", "services"
OWNED = (WORKLOADS, PLANS, EXPOSURES, CLAIMS, "configmaps", DEPLOYMENTS, SERVICES)
NAMESPACE = "default"
ROOT = f"/apis/score.dev/v1b1/namespaces/{NAMESPACE}"
PAUSE = 0.03  # seconds after which the runtime answers
OUTAGES = (Fault.OUTSIDE_REFUSES, Fault.OUTSIDE_HANGS, Fault.OUTSIDE_LEAKS, Fault.OUTSIDE_LOSES)


def url_of(uid: str, generation: int) -> str:
    return f"https://g{generation}.{uid}.example.com"


class PlayedRuntime:
    """Answers for what it is asked for. While it is `nonsense` for a name, it publishes what is no URL there."""

    def __init__(self) -> None:
        self.world: World
        self.nonsense: set[str] = set()

    def asked(self, name: str) -> None:
        self.world.intentions += 1
        asyncio.get_running_loop().call_later(PAUSE, self._answer, name)

    def _answer(self, name: str) -> None:
        if any(self.world.under(outage) for outage in OUTAGES):
            asyncio.get_running_loop().call_later(1.0, self._answer, name)
            return
        self.world.intentions -= 1
        exposure = self.world.store.get(EXPOSURES, NAMESPACE, name)
        if exposure is None:
            return
        spec = exposure["spec"]
        generation = spec["observedWorkloadGeneration"]
        url = "nonsense" if name in self.nonsense else url_of(spec["workloadRef"]["uid"], generation)
        said = {"exposures": [{"url": url}], "observedWorkloadGeneration": generation}
        if (exposure.get("status") or {}) != said:
            patch(self.world, f"{ROOT}/workloadexposures/{name}/status", {"status": said})


class ScoreScenario:
    name = "score"
    crds: tuple[CRD, ...] = CRDS

    def __init__(self) -> None:
        self._history = StatusHistory()
        self._world: World
        self._first_revision = 0

    def outside(self) -> PlayedRuntime:
        return PlayedRuntime()

    def controllers(self, _outside: Any) -> tuple[Declaration, ...]:
        return without_runtime()

    def attach(self, world: World) -> None:
        self._world = world
        self._first_revision = world.store.revisions.current
        world.outside.world = world
        world.store.revisions.subscribe(WORKLOADS, self._workload_changed)
        world.store.revisions.subscribe(EXPOSURES, self._exposure_changed)

    # ---- what people do

    def steps(self) -> Sequence[Step]:
        return (
            Step("a workload", lambda world: create(world, "plain"), most=5),
            Step("one that needs a name", lambda world: create(world, "needs", resources={"n": DNS}), most=10),
            Step("one that can't be", lambda world: create(world, "bad", profile="zorp"), most=2),
            Step("another image", lambda world: edit(world, "plain", containers=image("b")), most=6),
            Step("an exposure is deleted by hand", lambda world: delete(world, EXPOSURES, "plain"), most=5),
            Step("the runtime publishes nonsense", lambda world: nonsense(world, "plain"), most=3),
            Step("and mends it", lambda world: sense(world, "plain"), most=3),
            Step("the one that can't be is mended", lambda world: edit(world, "bad", profile="batch"), most=6),
            Step("a resource goes", lambda world: edit(world, "needs", resources={"n": None}), most=9),
            Step("a status is wiped", lambda world: wipe_status(world, "plain"), most=3),
            Step("one goes, a namesake comes", lambda world: recreate(world, "plain"), most=8),
            Step("the operator restarts", lambda world: world.restart_operator()),
            Step("one goes", lambda world: delete(world, WORKLOADS, "bad"), most=2),
        )

    def farewell(self) -> Step:
        return Step("all go", delete_all, most=4)

    def restore(self, world: World) -> None:
        revisions = world.store.revisions
        world.store.restore(max(revisions.compacted, self._first_revision, revisions.current - 6))
        self._history.forget()
        for exposure in world.store.objects(EXPOSURES):
            world.outside.asked(exposure["metadata"]["name"])

    def empty(self, world: World) -> None:
        delete_all(world)
        collect_garbage(world)

    # ---- what is true

    def _workload_changed(self, event: Event) -> None:
        world = self._world
        if event.new is None:
            return
        with world.watching():
            self._history.check(event.old, event.new, world.clock.wall(), ours=world.operator_is_writing)
            if world.operator_is_writing:
                self._no_lie(event.new)

    def _no_lie(self, workload: Any) -> None:
        """An endpoint is one that the runtime published for this very Workload; True is for its own generation."""
        meta, status = workload["metadata"], workload.get("status") or {}
        possible = {url_of(meta["uid"], generation): generation for generation in range(1, meta["generation"] + 1)}
        endpoint = status.get("endpoint", "")
        if endpoint and endpoint not in possible:
            raise Violation("no lie", f"{meta['name']} shows {endpoint}, which nobody published for it")
        for name in ("RuntimeReady", "Ready"):
            condition = conditions_of(workload).get(name, {})
            spoken = condition.get("observedGeneration")
            if condition.get("status") == "True" and spoken == meta["generation"] and possible.get(endpoint) != spoken:
                raise Violation("no lie", f"{name} is True for generation {spoken}, and the endpoint is {endpoint}")

    def _exposure_changed(self, event: Event) -> None:
        if event.new is not None and (event.old is None or event.old["spec"] != event.new["spec"]):
            self._world.outside.asked(event.new["metadata"]["name"])

    def wrote(self, world: World, write: Write) -> None:
        if write.took_effect and write.path.endswith("/status") and "/workloadexposures/" in write.path:
            raise Violation("not ours", f"{write.path} is the runtime's to write")

    # ---- at rest

    def unsettled(self, world: World) -> str:
        if collect_garbage(world):
            return "garbage was collected"
        for workload in world.store.objects(WORKLOADS):
            if words := self._workload_unsettled(world, workload):
                return f"{workload['metadata']['name']}: {words}"
        return ""

    def _workload_unsettled(self, world: World, workload: Any) -> str:
        meta, spec, status = workload["metadata"], workload["spec"], workload.get("status") or {}
        good = spec.get("profile") != "zorp"
        sense = meta["name"] not in world.outside.nonsense
        conditions = conditions_of(workload)
        expected = {"InputsValid": "True" if good else "False", "Ready": said_of(good=good, sense=sense)}
        if good:
            expected |= {"ClaimsReady": "True", "RuntimeReady": "True" if sense else "Unknown"}
        for name, wanted in expected.items():
            condition = conditions.get(name, {})
            if condition.get("observedGeneration") != meta["generation"]:
                return f"{name} speaks of generation {condition.get('observedGeneration')}, not {meta['generation']}"
            if condition["status"] != wanted:
                return f"{name} is {condition['status']}, and should be {wanted}: {condition['message']}"
        if good and sense and status.get("endpoint") != url_of(meta["uid"], meta["generation"]):
            return f"its endpoint is {status.get('endpoint')}"
        claims = {one["spec"]["key"] for one in world.store.objects(CLAIMS) if meta["uid"] in owners(one)}
        wanted_claims = set(spec.get("resources") or {})
        return "" if claims == wanted_claims else f"its claims are {claims}, and should be {wanted_claims}"

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
            obj["metadata"]["name"]: {name: one["status"] for name, one in conditions_of(obj).items()}
            for obj in world.store.objects(WORKLOADS)
        }
        return {"workloads": workloads, **{kind: of(kind) for kind in (EXPOSURES, PLANS, CLAIMS, "configmaps")}}


def said_of(*, good: bool, sense: bool) -> str:
    return "False" if not good else "True" if sense else "Unknown"


def owners(obj: Any) -> list[str]:
    return [ref["uid"] for ref in obj["metadata"].get("ownerReferences") or ()]


# ---- acts

DNS = {"type": "dns"}


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


def nonsense(world: World, name: str) -> None:
    world.outside.nonsense.add(name)
    world.outside.asked(name)


def sense(world: World, name: str) -> None:
    world.outside.nonsense.discard(name)
    world.outside.asked(name)


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
