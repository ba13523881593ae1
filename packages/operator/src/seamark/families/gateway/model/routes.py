"""Routes as published for gateways, the translation and statuses. Frozen: compared for changes."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.gatewayapi.listeners import ListenerId
from seamark_edge.dataplane.model import Entry, Origin
from seamark_runtime.api.gateway import ParentReference
from seamark_runtime.api.meta import Condition, Key


@dataclass(frozen=True, slots=True)
class Backend:
    """A Service's port that traffic goes to."""

    service: Key
    port: int
    port_name: str
    protocol: str  # http1, http2 or tcp

    @property
    def cluster(self) -> str:
        return f"{self.service}:{self.port}" + ("" if self.protocol == "http1" else f"/{self.protocol}")


@dataclass(frozen=True, slots=True)
class BackendHealth:
    """Whether a ready endpoint of a backend accepts connections, as a condition has it."""

    status: str
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a route: its entries for the data plane, one for each match, in order."""

    name: str
    entries: tuple[Entry, ...]
    order: tuple[tuple[object, ...], ...]  # the precedence of each entry among all of its host
    built_in: frozenset[str] = frozenset()  # what the rule's own filters set, and no policy can
    extensions: tuple[Key, ...] = ()  # policies that the rule itself names
    patterns: int = 0  # the cost of the regular expressions of its matches


@dataclass(frozen=True, slots=True)
class RouteView:
    """A route as it is translated: made once per change of it, or of what it refers to."""

    origin: Origin
    age: tuple[str, str]  # when it was created, and its name: the older precedes
    hostnames: tuple[str, ...]
    rules: tuple[Rule, ...]
    backends: tuple[tuple[str, Backend], ...]  # by the name of their cluster
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AttachedRoute:
    """A route at a gateway: through which listeners, under which host names."""

    route: RouteView
    through: tuple[tuple[ListenerId, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class RouteParent:
    """A parent of a route that is ours: its gateway, the listeners that take the route, the conditions."""

    parent: ParentReference
    gateway: Key
    listeners: tuple[ListenerId, ...]
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class RouteParents:
    """All parents of a route: those that are ours, and what is wrong with the others."""

    ours: tuple[RouteParent, ...] = ()
    missing: tuple[str, ...] = ()  # parents that do not exist, as kind and name
    invalid: tuple[str, ...] = ()  # what is wrong with the names of parents
    backends: tuple[Backend, ...] = ()  # of all rules, each once
