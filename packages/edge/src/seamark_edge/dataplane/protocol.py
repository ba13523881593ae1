"""What a data plane must be able to do, and what it answers.

- `program` makes a snapshot the gateway's, and returns the response of the data plane: every instance that is
  ready has acknowledged every resource and listens (`Served`), one refused a resource (`Rejected`), or a newer snapshot
  came meanwhile (`Superseded`). While no instance is there it waits; the caller has the deadline.
- After `Rejected`, what was served before is still served.
- `presence` tells which instances serve a gateway now. It changes when one comes, goes, or stops listening.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from seamark_edge.dataplane.model import Snapshot
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry
from seamark_runtime.source import Facts


@dataclass(frozen=True, slots=True)
class Served:
    """By how many instances; 0: by a data plane that takes everything and listens nowhere."""

    instances: int = 1


@dataclass(frozen=True, slots=True)
class Rejected:
    """With the error of the data plane; `resources` are those of the refused response."""

    message: str
    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Superseded:
    """A newer snapshot came meanwhile; its own caller has the answer."""


Outcome = Served | Rejected | Superseded


@dataclass(frozen=True, slots=True)
class Presence:
    """What is known of a gateway's instances: how many are connected, and how often one has come."""

    connected: int = 0
    arrivals: int = 0


class ConnectionRefused(Retry):
    """Nothing listens at an endpoint."""


class NotProbed(Retry):
    """This data plane connects to nothing."""


class DataPlane(Protocol):
    """Contract: that of this module."""

    presence: Facts[Key, Presence]
    lasting: bool  # what `run` serves is used by the next term of leadership of this process, and served until then

    async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome: ...

    async def remove(self, gateway: Key) -> None:
        """The gateway is gone: nothing is served for it any more."""
        ...

    async def retain(self, exists: Callable[[Key], bool]) -> None:
        """What an earlier process has left is removed, except for gateways that exist."""
        ...

    async def connect(self, host: str, port: int) -> None:
        """A connection to an endpoint of a backend, as close to the data plane as we can: returns when it is accepted;
        raises `ConnectionRefused`, `NotProbed`, or another error."""
        ...

    async def run(self) -> None:
        """Whatever has to run beside; until cancelled."""
        ...
