"""What the data plane has answered, as published for statuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from seamark_edge.dataplane.model import Origin


class ProgrammedState(Enum):
    SERVED = "served"
    PENDING = "pending"
    REFUSED = "refused"
    NOWHERE = "nowhere"  # by a data plane that listens nowhere
    ABSENT = "absent"  # no instance is connected, or it does not respond


@dataclass(frozen=True, slots=True)
class ProgrammedResult:
    """What the data plane's response means for a gateway."""

    state: ProgrammedState
    message: str = ""
    certificates: tuple[tuple[str, str], ...] = ()  # Secrets that the data plane refused, each with its error


class RefusedObject(NamedTuple):
    """An object whose configuration the data plane refused, with everything that this depended on."""

    origin: Origin
    cause: object
    error: str


@dataclass(frozen=True)
class RefusedObjects:
    """The objects of a gateway that the data plane refused last, as they were then."""

    objects: tuple[RefusedObject, ...] = ()

    def unchanged(self, cause_of: Callable[[Origin], object]) -> dict[Origin, str]:
        """Those that are as they were when they were refused, by their errors: they are not tried again."""
        return {refused.origin: refused.error for refused in self.objects if cause_of(refused.origin) == refused.cause}
