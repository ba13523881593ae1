"""How a family plugs into the simulator: what its users do, what is outside, and what is true.

- `steps` are what people do to the cluster, in order. Between two of them the world comes to rest (or, in a swarm,
  does not).
- `wrote` sees every write of the operator that reached the store; `unsettled` sees the world at rest. Both compute the
  truth on their own, from the store and the remote side, and raise `Violation` when a status does not match it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration

if TYPE_CHECKING:
    from tests.simulation.world import World
    from tests.simulation.writes import Write


class Violation(AssertionError):
    """A promise was broken: which one, and how."""

    def __init__(self, invariant: str, words: str) -> None:
        super().__init__(f"{invariant}: {words}")
        self.invariant = invariant


@dataclass(frozen=True)
class Step:
    """An act of a user. `most` bounds the writes that it may cost the operator, where nothing goes wrong."""

    words: str
    act: Callable[[World], None]
    most: int = 0
    wait: float = 0.0  # seconds that pass before


class Scenario(Protocol):
    name: str
    crds: tuple[CRD, ...]

    def outside(self) -> Any: ...

    def controllers(self, outside: Any) -> tuple[Declaration, ...]: ...

    def attach(self, world: World) -> None: ...

    def steps(self) -> Sequence[Step]: ...

    def farewell(self) -> Step:
        """The last act: everything is deleted. Afterwards nothing may be left, inside or outside."""
        ...

    def restore(self, world: World) -> None:
        """etcd goes back to a moment of the scenario's choice."""
        ...

    def empty(self, world: World) -> None:
        """The namespace is being deleted: everything in it is, too."""
        ...

    def wrote(self, world: World, write: Write) -> None: ...

    def unsettled(self, world: World) -> str:
        """What is not as it should be at rest, in words; empty when all is."""
        ...

    def quiet_from(self, world: World) -> float:
        """From when on nothing is due any more: no evidence goes stale, no renewal comes."""
        ...

    def left(self, world: World) -> str:
        """What is left of us after the farewell, in words; empty when nothing is."""
        ...

    def summary(self, world: World) -> Any:
        """What two runs that ended well have in common: the end state, and what was made and deleted."""
        ...
