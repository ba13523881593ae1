"""Which port leads where, from the BoundEndpoints as they are. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seamark_edge.api.bindings import BoundEndpoint


@dataclass(frozen=True)
class Route:
    """Where the connections of a port go: an endpoint, as the edge knows it."""

    host: str
    port: int
    name: str  # of the BoundEndpoint


def routes(endpoints: Iterable[BoundEndpoint]) -> dict[int, Route]:
    """By the port to listen on. Of two on one port the older is served, by every replica alike."""
    found: dict[int, Route] = {}
    for endpoint in sorted(endpoints, key=lambda endpoint: (endpoint.metadata.creation_timestamp or "", endpoint.key)):
        if not endpoint.deleting:
            target = endpoint.spec.target
            route = Route(f"{target.service}.{target.namespace}", target.port, endpoint.metadata.name)
            found.setdefault(endpoint.spec.port, route)
    return found
