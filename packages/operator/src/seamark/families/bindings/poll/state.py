"""What the decisions about a poll are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seamark.families.bindings.model.entries import Listing
from seamark.families.bindings.model.targets import Target
from seamark.families.bindings.poll.ports import Ports
from seamark_edge.api.bindings import BindingEndpoint
from seamark_runtime.api.meta import Key


@dataclass(frozen=True)
class Targets:
    """A list by target; `problems` are the endpoints that have none."""

    endpoints: Mapping[Target, tuple[BindingEndpoint, ...]]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gone:
    """A target of which the edge lists no endpoint any more, and that has an object."""

    since: float
    at: str  # the same time, of the calendar


@dataclass(frozen=True)
class Listed:
    """What is to have a port: the targets of the list, and those that stay for the grace period."""

    listing: Listing
    targets: Targets
    gone: Mapping[Target, Gone]


@dataclass(frozen=True)
class Assignment:
    """Remembered between polls: the last list by target, and the ports of these targets."""

    listing: Listing
    targets: Targets
    ports: Ports
    gone: Mapping[Target, Gone] = field(default_factory=dict)  # targets that stay for the grace period


@dataclass(frozen=True)
class Seen:
    installation: Key
    targets: Targets | None  # None: there is no list
    ports: Mapping[str, int | None]
    gone: Mapping[Target, Gone] = field(default_factory=dict)
