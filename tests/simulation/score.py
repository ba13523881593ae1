"""The Score family in the simulator: Workloads, and a runtime that answers for them; what it published is the oracle.

The world has a fake runtime: it sees every exposure and answers a moment later with a URL that names the Workload and
the generation, so an endpoint that belongs to another uid, or was never published, is seen at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
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
    succeed,
    unexpected_condition,
    wipe_status,
)

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World
    from tests.simulation.writes import Write

PAUSE, LATE = 0.03, 20.0  # seconds after which the runtime answers


def url_of(uid: str, generation: int) -> str:
    return f"https://g{generation}.{uid}.example.com"


class FakeRuntime:
    """Publishes a URL for every exposure, with the generation that it is about; for these names it does otherwise:

    `nonsense`: the URL is none; `frozen`: it does not answer; `late`: it answers after 20 s for what it saw at first;
    `wordless`: it names no generation, as the seed has it; `unready`: it publishes that the endpoint is not ready.
    """

    def __init__(self) -> None:
        self.world: World
        self.nonsense: dict[str, str] = {}
        self.frozen: set[str] = set()
        self.late: set[str] = set()
        self.wordless: set[str] = set()
        self.unready: set[str] = set()
        self.answered: set[tuple[str, int]] = set()  # (uid of the Workload, generation)

    def requested(self, name: str) -> None:
        exposure = self.world.store.get(EXPOSURES, NAMESPACE, name)
        if exposure is None or name in self.frozen:
            return
        self.world.intentions += 1
        pause = LATE if name in self.late else PAUSE
        asyncio.get_running_loop().call_later(pause, self._answer, name, exposure)

    def _answer(self, name: str, asked: Any) -> None:
        if any(self.world.under(outage) for outage in OUTAGES):
            asyncio.get_running_loop().call_later(1.0, self._answer, name, asked)
            return
        self.world.intentions -= 1
        exposure = self.world.store.get(EXPOSURES, NAMESPACE, name)
        if exposure is None or exposure["metadata"]["uid"] != asked["metadata"]["uid"]:
            return
        if name in self.late and exposure["spec"] == asked["spec"]:
            self.late.discard(name)  # late once
        elif name in self.wordless and exposure["spec"] != asked["spec"]:
            return  # it has seen the new spec, too, and answers that
        self._publish(name, exposure, asked["spec"] if name in self.late else exposure["spec"])

    def _publish(self, name: str, exposure: Any, spec: Any) -> None:
        generation, uid = spec["observedWorkloadGeneration"], spec["workloadRef"]["uid"]
        entry: dict[str, Any] = {"url": self.nonsense.get(name) or url_of(uid, generation)}
        entry |= {"ready": False} if name in self.unready else {}
        status: dict[str, Any] = {"exposures": [entry]}
        status |= {} if name in self.wordless else {"observedWorkloadGeneration": generation}
        self.answered.add((uid, generation))
        if (exposure.get("status") or {}) != status:
            body = {"status": {"observedWorkloadGeneration": None, **status}}
            patch(self.world, f"{ROOT}/workloadexposures/{name}/status", body)


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
            Step("another image", lambda world: edit(world, "plain", containers=image("b")), most=7),
            Step("an exposure is deleted by hand", lambda world: delete(world, EXPOSURES, "plain"), most=5),
            Step("the runtime publishes nonsense", lambda world: nonsense(world, "plain"), most=3),
            Step("and mends it", lambda world: sense(world, "plain"), most=3),
            Step("it publishes what is no place", lambda world: nonsense(world, "plain", "http://a..b"), most=3),
            Step("and a script", lambda world: nonsense(world, "plain", "javascript:alert(1)"), most=3),
            Step("and mends that", lambda world: sense(world, "plain"), most=4),
            Step("it is not ready", lambda world: change(world, "plain", world.outside.unready.add), most=4),
            Step("and is again", lambda world: change(world, "plain", world.outside.unready.discard), most=4),
            Step("the runtime is frozen", lambda world: world.outside.frozen.add("plain")),
            Step("another image meanwhile", lambda world: edit(world, "plain", containers=image("c")), most=5),
            Step("it goes on", lambda world: change(world, "plain", world.outside.frozen.discard), most=4),
            Step("it is late", lambda world: world.outside.late.add("plain")),
            Step("another image, answered late", lambda world: edit(world, "plain", containers=image("d")), most=7),
            Step("it names no generation", lambda world: change(world, "plain", world.outside.wordless.add), most=3),
            Step("another image for that", lambda world: edit(world, "plain", containers=image("e")), most=8),
            Step("and the same again", lambda world: edit(world, "plain", containers=image("f")), most=8),
            Step("it is frozen, too", lambda world: world.outside.frozen.add("plain")),
            Step("another image for nobody", lambda world: edit(world, "plain", containers=image("g")), most=8),
            Step("and it answers again", lambda world: change(world, "plain", world.outside.frozen.discard), most=4),
            Step("the one that can't be is mended", lambda world: edit(world, "bad", profile="batch"), most=6),
            Step("a resource goes", lambda world: edit(world, "needs", resources={"n": None}), most=9),
            Step("a status is wiped", lambda world: wipe_status(world, "plain"), most=3),
            Step("one goes, a namesake comes", lambda world: recreate(world, "plain"), most=8),
            Step("one goes without its children, a namesake comes", lambda world: succeed(world, "plain"), most=10),
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
        runs = self._runtime_readiness(meta)
        expected = {"InputsValid": "True" if good else "False", "Ready": runs if good else "False"}
        if good:
            expected |= {"ClaimsReady": "True", "RuntimeReady": runs}
        if problem := unexpected_condition(workload, expected):
            return problem
        if good and runs == "True" and status.get("endpoint") != url_of(meta["uid"], meta["generation"]):
            return f"its endpoint is {status.get('endpoint')}"
        claims = {claim["spec"]["key"] for claim in world.store.objects(CLAIMS) if meta["uid"] in owners(claim)}
        wanted_claims = set(spec.get("resources") or {})
        return "" if claims == wanted_claims else f"its claims are {claims}, and should be {wanted_claims}"

    def _runtime_readiness(self, meta: Any) -> str:
        """What its runtime has published, for the present generation."""
        outside, name = self._world.outside, meta["name"]
        if (meta["uid"], meta["generation"]) not in outside.answered or name in outside.nonsense:
            return "Unknown"
        return "False" if name in outside.unready else "True"


# ---- acts

DNS = {"type": "dns"}


def nonsense(world: World, name: str, url: str = "nonsense") -> None:
    world.outside.nonsense[name] = url
    world.outside.requested(name)


def sense(world: World, name: str) -> None:
    world.outside.nonsense.pop(name, None)
    world.outside.requested(name)


def change(world: World, name: str, act: Callable[[str], None]) -> None:
    """The runtime does otherwise for this name from now on, and publishes it."""
    act(name)
    world.outside.requested(name)
