"""What the data plane has answered, as published for statuses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from seamark.families.gateway.model.routes import AttachedRoute
from seamark_edge.dataplane.model import Origin


class ProgrammedState(Enum):
    SERVED = "served"
    PENDING = "pending"
    REFUSED = "refused"
    ABSENT = "absent"  # no instance is connected, or it does not respond


@dataclass(frozen=True, slots=True)
class ProgrammedResult:
    """What the data plane's response means for a gateway."""

    state: ProgrammedState
    message: str = ""


@dataclass(frozen=True)
class RefusedRoutes:
    """The routes of a gateway that the data plane refused last, as they were then, each with its error."""

    routes: tuple[tuple[AttachedRoute, str], ...] = ()

    def unchanged(self, attached: tuple[AttachedRoute, ...]) -> dict[Origin, str]:
        """Those that are attached as they were refused: they are not tried again."""
        if not self.routes:
            return {}
        known = {route.route.origin: route for route in attached}
        return {
            refused.route.origin: error for refused, error in self.routes if known.get(refused.route.origin) == refused
        }
