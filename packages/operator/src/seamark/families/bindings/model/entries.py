"""The entries of the family's facts and collections."""

from __future__ import annotations

from dataclasses import dataclass, field

from seamark.families.bindings.model.targets import Target
from seamark_edge.api.bindings import BindingEndpoint
from seamark_edge.model import Bound
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Refusal

NAMESPACE_NOT_ALLOWED = "NamespaceNotAllowed"  # the reason of a refusal that the installation itself decides


@dataclass(frozen=True)
class Listing:
    """What the edge last listed as bound here, and when. The same list later is the same value."""

    endpoints: tuple[Bound, ...]
    at: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Projection:
    """A target, its forwarders' port, and the endpoints that share it.

    `gone`: since when the edge lists no endpoint of it; "" while it lists one.
    """

    target: Target
    port: int
    endpoints: tuple[BindingEndpoint, ...]
    gone: str = ""


@dataclass(frozen=True)
class PollReport:
    """The result of a poll for the installation itself."""

    known: bool  # whether there is a list
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, order=True)
class PortName:
    """A port of a group, as its Services name it: `<scheme>-<port>`."""

    port: int
    scheme: str

    def __str__(self) -> str:
        return f"{self.scheme}-{self.port}"


@dataclass(frozen=True)
class GroupReport:
    """The result of a group for one of its members."""

    ports: tuple[tuple[PortName, int], ...]  # every port of the group, and the port on which its forwarder listens
    target: Key | None = None  # the target Service, once it exists
    refusal: Refusal | None = None
    conflict: str = ""
    undeleted: str = ""  # why the target still exists, for members that are being deleted
