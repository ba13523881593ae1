"""The Score family in the simulator: Workloads, and a runtime that answers for them; what it published is the oracle.

The world has a fake runtime: it sees every exposure and answers a moment later with a URL that names the Workload and
the generation, so an endpoint that belongs to another uid, or was never published, is seen at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seamark.families.score.family import CRDS, without_runtime
from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration
from tests.simulation.invariants import conditions_of
from tests.simulation.scenario import Step, Violation
from tests.simulation.workloads import (
    CLAIMS,
    EXPOSURES,
    NAMESPACE,
    OUTAGES,
    ROOT,
    WORKLOADS,
    WorkloadScenario,
    create,
    delete,
    delete_all,
    edit,
    image,
    owners,
    patch,
    recreate,
    unexpected_condition,
    wipe_status,
)

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World, Write

PAUSE = 0.03  # seconds after which the runtime answers


def url_of(uid: str, generation: int) -> str:
    return f"https://g{generation}.{uid}.example.com"


class FakeRuntime:
    """Publishes a URL for every exposure. While it is `nonsense` for a name, it publishes what is no URL there."""

    def __init__(self) -> None:
        self.world: World
        self.nonsense: set[str] = set()

    def requested(self, name: str) -> None:
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
        status = {"exposures": [{"url": url}], "observedWorkloadGeneration": generation}
        if (exposure.get("status") or {}) != status:
            patch(self.world, f"{ROOT}/workloadexposures/{name}/status", {"status": status})


class ScoreScenario(WorkloadScenario):
    name = "score"
    crds: tuple[CRD, ...] = CRDS

    def outside(self) -> FakeRuntime:
        return FakeRuntime()

    def controllers(self, _outside: Any) -> tuple[Declaration, ...]:
        return without_runtime()

    def attach(self, world: World) -> None:
        super().attach(world)
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
        super().restore(world)
        for exposure in world.store.objects(EXPOSURES):
            world.outside.requested(exposure["metadata"]["name"])

    # ---- what is true

    def _no_lie(self, workload: Any) -> None:
        """An endpoint is one that the runtime published for this very Workload; True is for its own generation."""
        meta, status = workload["metadata"], workload.get("status") or {}
        possible = {url_of(meta["uid"], generation): generation for generation in range(1, meta["generation"] + 1)}
        endpoint = status.get("endpoint", "")
        if endpoint and endpoint not in possible:
            raise Violation("no lie", f"{meta['name']} shows {endpoint}, which was not published for it")
        for name in ("RuntimeReady", "Ready"):
            condition = conditions_of(workload).get(name, {})
            observed = condition.get("observedGeneration")
            if (
                condition.get("status") == "True"
                and observed == meta["generation"]
                and possible.get(endpoint) != observed
            ):
                raise Violation("no lie", f"{name} is True for generation {observed}, and the endpoint is {endpoint}")

    def _exposure_changed(self, event: Event) -> None:
        if event.new is not None and (event.old is None or event.old["spec"] != event.new["spec"]):
            self._world.outside.requested(event.new["metadata"]["name"])

    def wrote(self, world: World, write: Write) -> None:
        if write.took_effect and write.path.endswith("/status") and "/workloadexposures/" in write.path:
            raise Violation("not ours", f"{write.path} is the runtime's to write")

    # ---- at rest

    def _workload_unsettled(self, world: World, workload: Any) -> str:
        meta, spec, status = workload["metadata"], workload["spec"], workload.get("status") or {}
        good = spec.get("profile") != "zorp"
        sense = meta["name"] not in world.outside.nonsense
        expected = {"InputsValid": "True" if good else "False", "Ready": expected_readiness(good=good, sense=sense)}
        if good:
            expected |= {"ClaimsReady": "True", "RuntimeReady": "True" if sense else "Unknown"}
        if problem := unexpected_condition(workload, expected):
            return problem
        if good and sense and status.get("endpoint") != url_of(meta["uid"], meta["generation"]):
            return f"its endpoint is {status.get('endpoint')}"
        claims = {claim["spec"]["key"] for claim in world.store.objects(CLAIMS) if meta["uid"] in owners(claim)}
        wanted_claims = set(spec.get("resources") or {})
        return "" if claims == wanted_claims else f"its claims are {claims}, and should be {wanted_claims}"


def expected_readiness(*, good: bool, sense: bool) -> str:
    return "False" if not good else "True" if sense else "Unknown"


# ---- acts

DNS = {"type": "dns"}


def nonsense(world: World, name: str) -> None:
    world.outside.nonsense.add(name)
    world.outside.requested(name)


def sense(world: World, name: str) -> None:
    world.outside.nonsense.discard(name)
    world.outside.requested(name)
