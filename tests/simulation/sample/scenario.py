"""The sample family in the simulator: greetings, their ConfigMaps, a board outside, and what people do to them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seamark.families.sample.family import GREETING, controllers
from seamark.families.sample.model.options import Options
from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration
from tests.simulation.invariants import StatusHistory, conditions_of
from tests.simulation.sample import acts
from tests.simulation.sample.acts import GREETINGS, KEEPER, collect_garbage, owners
from tests.simulation.sample.board import NEVER, TwinBoard
from tests.simulation.sample.foreign import (
    check_careful,
    check_child,
    check_greeting,
    check_let_go,
    check_marked,
    is_marked,
)
from tests.simulation.sample.truth import OURS, SEEN_LATELY, Truth
from tests.simulation.scenario import Step, Violation

if TYPE_CHECKING:
    from seamark_cluster.embedded.machinery.revisions import Event
    from tests.simulation.world import World
    from tests.simulation.writes import Write


class SampleScenario:
    name = "sample"
    crds: tuple[CRD, ...] = (GREETING,)
    shelf_life = 3 * 3600.0
    verify_every = 3600.0

    def __init__(self) -> None:
        self._history = StatusHistory(OURS)
        self._world: World
        self._truth: Truth
        self._first_revision = 0
        self._unmarked: dict[str, float] = {}  # uid → when a restore may have taken our finalizer from it

    def outside(self) -> TwinBoard:
        return TwinBoard()

    def controllers(self, outside: Any) -> tuple[Declaration, ...]:
        return controllers(Options(self.shelf_life, self.verify_every), outside)

    def attach(self, world: World) -> None:
        self._world = world
        self._truth = Truth(world, self.shelf_life)
        self._first_revision = world.store.revisions.current
        world.outside.world = world
        world.outside.before_effect = self._marked
        world.store.revisions.subscribe(GREETINGS, self._greeting_changed)
        world.store.revisions.subscribe("configmaps", self._config_map_changed)

    # ---- what people do

    def steps(self) -> Sequence[Step]:
        return (
            Step("a greeting", lambda world: acts.create(world, "plain", text="one"), most=2),
            Step("one for a board", lambda world: acts.create(world, "posted", kept=True, text="2", board="quay"), 3),
            Step("a foreign ConfigMap is there", lambda world: acts.foreign_config_map(world, "taken", "mine")),
            Step("a greeting of that name", lambda world: acts.create(world, "taken", text="three"), most=2),
            Step("one that stays", lambda world: acts.create(world, "kept", text="stay", board="quay"), most=3),
            Step("two texts in a row", lambda world: acts.edit_twice(world, "plain", "four"), most=4),
            Step("a ConfigMap is deleted by hand", lambda world: acts.surprise(world, "plain"), most=3),
            Step("a ConfigMap is edited by hand", lambda world: acts.edit_config_map(world, "posted", "x"), most=1),
            Step("others leave their marks", acts.mark),
            Step("another text for a marked one", lambda world: acts.edit(world, "kept", text="stay!"), most=2),
            Step("another controller speaks", lambda world: acts.audit(world, "posted")),
            Step("another board", lambda world: acts.edit(world, "posted", text="5", board="pier"), most=3),
            Step("the status is wiped", lambda world: acts.wipe_status(world, "posted"), most=2),
            Step("the stranger leaves", lambda world: acts.delete_config_map(world, "taken"), most=3),
            Step(
                "it is deleted and created again",
                lambda world: acts.recreate(world, "posted", text="6", board="quay"),
                6,
            ),
            Step(
                "one goes, a namesake comes at once", lambda world: acts.recreate(world, "plain", "eight", ""), most=5
            ),
            Step("the operator restarts", lambda world: world.restart_operator()),
            Step("no board any more", lambda world: acts.edit(world, "posted", text="7", board=""), most=3),
            Step("back on a board", lambda world: acts.edit(world, "posted", text="7", board="quay"), most=2),
            Step("a greeting goes", lambda world: acts.delete(world, "posted"), most=2),
        )

    def farewell(self) -> Step:
        return Step("all greetings go", acts.delete_all, most=2)

    def restore(self, world: World) -> None:
        revisions = world.store.revisions
        had = (obj["metadata"]["uid"] for obj in world.store.objects(GREETINGS) if is_marked(obj))
        self._unmarked.update(dict.fromkeys(had, world.clock.monotonic()))
        world.store.restore(max(revisions.compacted, self._first_revision, revisions.current - 6))
        self._history.forget()
        for obj in world.store.objects(GREETINGS):
            self._truth.learn(obj)
            self._let_go(obj)
        self._truth.learn_again(world.store.objects("configmaps"))

    def empty(self, world: World) -> None:
        acts.empty_namespace(world)

    # ---- what is true

    def _greeting_changed(self, event: Event) -> None:
        world = self._world
        if event.new is None:
            if world.operator_is_writing:
                with world.watching():
                    check_let_go(event.old)
            return
        self._truth.learn(event.new)
        self._let_go(event.new)
        with world.watching():
            self._history.check(event.old, event.new, world.clock.wall(), ours=world.operator_is_writing)
            if world.operator_is_writing:
                check_greeting(event.old, event.new)
                if event.old and conditions_of(event.old) != conditions_of(event.new):
                    self._truth.judge(event.old, event.new)

    def _let_go(self, obj: Any) -> None:
        """The owner of the other finalizer works, too."""
        meta = obj["metadata"]
        if "deletionTimestamp" in meta and KEEPER in (meta.get("finalizers") or ()):
            asyncio.get_running_loop().call_later(0.02, acts.release, self._world, meta["name"], meta["uid"])

    def _marked(self, owner: str) -> None:
        """It can't be known at once that a restore has taken a finalizer away."""
        if self._world.clock.monotonic() < self._unmarked.get(owner, NEVER) + SEEN_LATELY:
            return
        with self._world.watching():
            check_marked(owner, self._world.store.objects(GREETINGS))

    def _config_map_changed(self, event: Event) -> None:
        self._truth.config_map_changed(event)
        if self._world.operator_is_writing:
            with self._world.watching():
                check_child(event.old, event.new, self._world.store.get(GREETINGS, *event.key))

    def wrote(self, world: World, write: Write) -> None:
        check_careful(write)
        if write.took_effect:
            self._truth.count(write)
        if "/configmaps/" in write.path and write.took_effect and write.method != "DELETE":
            self._not_the_strangers(write)

    def _not_the_strangers(self, write: Write) -> None:
        if not owners(dict(write.answer)):
            raise Violation("not ours", f"{write.path} was not made by us, and was written")

    # ---- at rest

    def unsettled(self, world: World) -> str:
        collect_garbage(world)
        alive = {obj["metadata"]["uid"]: obj for obj in world.store.objects(GREETINGS)}
        for obj in alive.values():
            if words := self._truth.wrong(obj):
                return f"{obj['metadata']['name']}: {words}"
        return self._truth.left(alive)

    def quiet_from(self, world: World) -> float:
        """Evidence is verified again before it is too old: there is nothing to wait for."""
        return world.clock.monotonic()

    def left(self, world: World) -> str:
        collect_garbage(world)
        names = [obj["metadata"]["name"] for obj in world.store.objects(GREETINGS)]
        return f"{names} are still there" if names else self._truth.left()

    def summary(self, world: World) -> Any:
        objects = [
            (
                obj["metadata"]["name"],
                obj["spec"],
                {name: condition["status"] for name, condition in conditions_of(obj).items()},
            )
            for obj in world.store.objects(GREETINGS)
        ]
        texts = [(obj["metadata"]["name"], obj["data"]) for obj in world.store.objects("configmaps")]
        return {"greetings": objects, "config maps": texts, **self._truth.made, **world.outside.made}
