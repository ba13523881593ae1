"""What passes between the keys of this family: frozen values, compared to tell what has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from seamark_edge.dataplane.model import Entry, Origin, Secret, Validation
from seamark_runtime.api.gateway import LabelSelector, ParentReference, RouteGroupKind
from seamark_runtime.api.meta import Condition, Key


class ListenerId(NamedTuple):
    """A listener of a gateway: its own, or one of a listener set."""

    kind: str  # Gateway or ListenerSet
    key: Key
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.key}/{self.name}"


@dataclass(frozen=True, slots=True)
class Door:
    """A listener as routes see it: who may come in, and by which name."""

    id: ListenerId
    port: int
    protocol: str
    hostname: str
    kinds: tuple[str, ...]
    who: str  # All, Same, Selector or None
    selector: LabelSelector | None
    passthrough: bool
    accepted: bool = True  # routes attach to a listener that is accepted, even while it is not served


@dataclass(frozen=True, slots=True)
class Doors:
    """All listeners of a gateway of ours, its sets' included. It changes only with what routes have to know."""

    gateway: Key
    doors: tuple[Door, ...]
    client_certificate: bool = False


@dataclass(frozen=True, slots=True)
class Lock:
    """What a listener needs to speak TLS."""

    certificates: tuple[Secret, ...] = ()
    validation: Validation | None = None


NO_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class ListenerView:
    """A listener with all that was found out about it."""

    door: Door
    lock: Lock
    supported: tuple[RouteGroupKind, ...]
    conditions: tuple[Condition, ...]  # Accepted, Conflicted, ResolvedRefs and further conditions
    refusal: str = ""  # the reason why it is not served; empty when it is


@dataclass(frozen=True, slots=True)
class GatewayView:
    """A gateway with all that was found out about it, but for its routes."""

    key: Key
    listeners: tuple[ListenerView, ...]
    accepted: Condition
    resolved: Condition | None
    sets: tuple[tuple[Key, Condition], ...]  # the listener sets that name it, and whether it takes them
    addresses: tuple[str, ...]
    address_trouble: tuple[str, str] | None = None  # reason and words
    backend_certificate: Secret | None = None
    insecure: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    bind: tuple[str, ...] = ()  # where its listeners are, if not at its addresses
    unreached: str = ""  # why no traffic reaches its addresses
    uid: str = ""
    not_started: str = ""  # why its Envoys can't start

    @property
    def serves(self) -> bool:
        """Whether there is anything to program."""
        return self.accepted.status == "True" and bool(self.listens) and self.address_trouble is None

    @property
    def listens(self) -> tuple[str, ...]:
        return self.bind or self.addresses


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
class Rule:
    """A rule of a route: its entries for the data plane, one for each match, in order."""

    name: str
    entries: tuple[Entry, ...]
    order: tuple[tuple[object, ...], ...]  # the precedence of each entry among all of its host
    built_in: frozenset[str] = frozenset()  # what the rule's own filters say, and no policy can
    extensions: tuple[Key, ...] = ()  # policies that the rule itself names


@dataclass(frozen=True, slots=True)
class RouteView:
    """A route as it is translated: made once per change of it, or of what it refers to."""

    origin: Origin
    age: tuple[str, str]  # when it was made, and its name: the older goes first
    hostnames: tuple[str, ...]
    rules: tuple[Rule, ...]
    backends: tuple[tuple[str, Backend], ...]  # by the name of their cluster
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Attached:
    """A route at a gateway: through which listeners, under which hostnames."""

    route: RouteView
    through: tuple[tuple[ListenerId, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Attachment:
    """What one route is to one parent."""

    parent: ParentReference
    gateway: Key
    listeners: tuple[ListenerId, ...]
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the data plane's answer means for a gateway."""

    state: str  # served, pending, refused or absent
    message: str = ""
    guilty: tuple[tuple[Origin, str], ...] = ()
    addresses: tuple[str, ...] = ()
