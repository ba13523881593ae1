"""The bindings family in the simulator."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seamark.families.bindings.family import CRDS, controllers
from seamark.families.bindings.model.options import Options
from seamark.providers.edge.memory import memory_edge
from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration
from tests.simulation.bindings import acts
from tests.simulation.bindings.acts import BOUND, DATABASE, HOME, NONSENSE, OPERATORS, OWN, RIVAL, SHOP, WEB
from tests.simulation.bindings.outside import FakeCertificates, FakeEdge
from tests.simulation.bindings.truth import Truth
from tests.simulation.faults import Fault
from tests.simulation.invariants import StatusHistory, conditions_of
from tests.simulation.scenario import Step

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World
    from tests.simulation.writes import Write

RESTARTED = 60.0  # seconds from a restore to the operator's restart by the administrator
OPTIONS = Options(namespace=HOME, poll=60.0, probe_every=120.0, probe_limit=10.0, shelf_life=3600.0, gone_grace=0.0)


class BindingsScenario:
    name = "bindings"
    crds: tuple[CRD, ...] = CRDS

    def __init__(self) -> None:
        self.options = OPTIONS
        self._history = StatusHistory()
        self._world: World
        self._truth: Truth
        self._first_revision = 0

    def outside(self) -> FakeEdge:
        return FakeEdge()

    def controllers(self, outside: FakeEdge) -> tuple[Declaration, ...]:
        return controllers(
            self.options,
            memory_edge(outside, reachable=True),
            clock=outside.clock,
            certificates=FakeCertificates(),
            dial=outside.network.dial,
        )

    def attach(self, world: World) -> None:
        self._world = world
        world.outside.world = world.outside.network.world = world
        self._truth = Truth(world, self.options.shelf_life)
        for name in (HOME, SHOP, "kube-system"):
            if world.store.get("namespaces", "", name) is None:
                world.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        world.store.create(
            {
                "apiVersion": "ngrok.k8s.ngrok.com/v1alpha1",
                "kind": "KubernetesOperator",
                "metadata": {"name": "seamark", "namespace": HOME},
                "spec": {"binding": {"endpointSelectors": ["true"]}, "drain": {"policy": "Delete"}},
            }
        )
        self._first_revision = world.store.revisions.current
        world.store.revisions.subscribe(BOUND, self._changed)
        world.store.revisions.subscribe(OPERATORS, self._changed)
        world.store.revisions.subscribe("services", self._truth.service_changed)

    # ---- what people do

    def steps(self) -> Sequence[Step]:
        """Where two write one status at once, one tries again; the event about the nonsense may come late.

        After a clock that went back the competing one is the older one, and takes the port. An upstream that is made
        anew is not verified yet; soon after a start the former status is kept for that moment.
        """
        back = any(Fault.CLOCK_BACK in faults for faults in self._world.plan.values())
        return (
            Step("an agent comes", lambda world: acts.agent(world, WEB), most=8),
            Step("a second one on the same URL", lambda world: acts.agent(world, WEB), most=1),
            Step("another port of the Service", lambda world: acts.agent(world, DATABASE), most=7),
            Step("the same port with another scheme", lambda world: acts.agent(world, RIVAL), most=9 if back else 5),
            Step("one that is nonsense", lambda world: acts.agent(world, NONSENSE), most=1),
            Step("a user has a Service of that name", self._own, most=7),
            Step("the user's Service goes", lambda world: acts.delete_own(world, "own"), most=4),
            Step("a network fails", lambda world: world.outside.network.down.add(5432), most=3),
            Step("and recovers", lambda world: world.outside.network.down.clear(), most=3),
            Step("a target is edited by hand", acts.break_target, most=2),
            Step("an upstream is deleted", self._delete_upstream, most=3),
            Step("a status is wiped", lambda world: acts.wipe_status(world, WEB), most=4),
            Step("the operator restarts", lambda world: world.restart_operator()),
            Step("one agent leaves", lambda world: acts.leave(world, WEB), most=2),
            Step(
                "the last one leaves, and the competing one has the port", lambda world: acts.leave(world, WEB), most=12
            ),
            Step("the nonsense goes", lambda world: acts.leave(world, NONSENSE)),
            Step("an object is deleted by hand", lambda world: acts.delete_bound(world, OWN), most=9),
        )

    def _own(self, world: World) -> None:
        acts.own_service(world, "own")
        acts.agent(world, OWN)

    def _delete_upstream(self, world: World) -> None:
        for obj in world.store.objects(BOUND):
            if obj["spec"]["target"]["port"] == 5432:
                acts.delete_service(world, HOME, obj["metadata"]["name"])

    def farewell(self) -> Step:
        return Step("it is uninstalled", acts.uninstall, most=26)

    def restore(self, world: World) -> None:
        revisions = world.store.revisions
        world.store.restore(max(revisions.compacted, self._first_revision, revisions.current - 6))
        self._history.forget()
        self._truth.learn_again()
        world.trouble(RESTARTED)  # the certificate, which is read by name alone, is read too seldom here to be missed
        asyncio.get_running_loop().call_later(RESTARTED, world.restart_operator)

    def empty(self, world: World) -> None:
        """The users' namespace is deleted, and made again."""
        for obj in list(world.store.objects("services")):
            if obj["metadata"]["namespace"] == SHOP:
                acts.delete_service(world, SHOP, obj["metadata"]["name"])

    # ---- what is true

    def _changed(self, event: Event) -> None:
        world = self._world
        if event.new is None:
            return
        with world.watching():
            self._history.check(event.old, event.new, world.clock.wall(), ours=world.operator_is_writing)
            if world.operator_is_writing and event.old is not None and event.new["kind"] == "BoundEndpoint":
                self._truth.judge(event.old, event.new)

    def wrote(self, world: World, write: Write) -> None:
        """Everything that counts is seen on the objects, at the edge and in the network."""

    def unsettled(self, world: World) -> str:
        return self._truth.wrong()

    def quiet_from(self, world: World) -> float:
        return world.clock.monotonic()

    def left(self, world: World) -> str:
        if world.store.get(OPERATORS, HOME, "seamark") is not None:
            return "the installation is still there"
        return self._truth.left()

    def summary(self, world: World) -> Any:
        said = {
            obj["metadata"]["name"]: {name: one["status"] for name, one in conditions_of(obj).items()}
            for obj in world.store.objects(BOUND)
        }
        return {"objects": said, "operators": world.outside.operators()}
