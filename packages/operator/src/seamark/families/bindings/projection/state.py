"""What the decisions about a projection, and about the endpoints of a BoundEndpoint, are made from."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.bindings.model.entries import Projection
from seamark_edge.api.bindings import BindingEndpoint, BoundEndpoint
from seamark_runtime.api.meta import Condition, Key, Wire

BOUND = "bound endpoint"  # the role of the child


@dataclass(frozen=True)
class Seen:
    key: Key
    installation: Key
    projection: Projection | None  # None: the edge no longer lists this target
    existing: BoundEndpoint | None


@dataclass(frozen=True)
class SeenEndpoints:
    """A BoundEndpoint, and the endpoints that the edge lists for its target."""

    endpoint: BoundEndpoint
    listed: tuple[BindingEndpoint, ...]


class Endpoints(Wire, frozen=True, kw_only=True):
    """The fields of a BoundEndpoint's status that come from a poll, and no others."""

    endpoints: tuple[BindingEndpoint, ...] | None = None
    hashed_name: str = ""
    endpoints_summary: str = ""
    conditions: tuple[Condition, ...] = ()
