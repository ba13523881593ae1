"""What the decisions about a poll are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
class Assignment:
    """Remembered between polls: the last list by target, and the ports of these targets."""

    listing: Listing
    targets: Targets
    ports: Ports


@dataclass(frozen=True)
class Seen:
    installation: Key
    targets: Targets | None  # None: there is no list
    ports: Mapping[str, int | None]
