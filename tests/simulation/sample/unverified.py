"""The sample family without verification: evidence expires, and True must become Unknown in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.simulation.invariants import conditions_of
from tests.simulation.sample import acts
from tests.simulation.sample.acts import GREETINGS
from tests.simulation.sample.scenario import SampleScenario
from tests.simulation.scenario import Step, Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

GRACE = 5.0  # seconds within which the timer must have spoken


class UnverifiedScenario(SampleScenario):
    name = "unverified"
    shelf_life = 600.0
    verify_every = float("inf")

    def steps(self) -> Sequence[Step]:
        return (
            Step("a greeting for a board", lambda world: acts.create(world, "posted", text="1", board="quay"), most=3),
            old := Step("the evidence gets old", self._in_time, wait=self.shelf_life + GRACE),
            Step("another text", lambda world: acts.edit(world, "posted", text="2"), most=2),
            Step("the operator restarts", lambda world: world.restart_operator()),
            old,
        )

    def _in_time(self, world: World) -> None:
        """Right now, not within a bound: unless something is wrong, or was a moment ago."""
        if world.troubles and world.last_trouble > world.clock.monotonic() - 2 * self.shelf_life:
            return
        for obj in world.store.objects(GREETINGS):
            if conditions_of(obj)["Posted"]["status"] == "True":
                raise Violation("in time", "Posted is True, and its evidence is too old")

    def quiet_from(self, world: World) -> float:
        return max(world.outside.confirmed.values(), default=0.0) + self.shelf_life + GRACE
