"""What the family's controllers are built with, for tests of one of them."""

from __future__ import annotations

from typing import Any

from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.kept import KeptPlaces
from seamark.families.loadbalancer.model.options import Options
from seamark.families.loadbalancer.model.reservations import Reservations
from seamark.families.loadbalancer.online.memory import agents_awaited
from seamark_edge.model import PolicyRefusal, nothing_known
from seamark_runtime.clock import SystemClock
from seamark_runtime.memory import Remembered


async def performed(_action: Any) -> Any:
    """Nothing is called in these tests."""


async def connected() -> None:
    """There is no edge in these tests."""


def given_dependencies(
    reservations: Reservations | None = None,
    kept: KeptPlaces | None = None,
    policy_refusal: PolicyRefusal = nothing_known,
) -> Dependencies:
    return Dependencies(
        options=Options(),
        perform=performed,
        connected=connected,
        policy_refusal=policy_refusal,
        reserved=(reservations or Reservations()).namespaces,
        kept=kept or KeptPlaces(600, SystemClock()),
        awaited=Remembered(agents_awaited),
    )
