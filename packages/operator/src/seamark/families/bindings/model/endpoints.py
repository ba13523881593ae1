"""Which BoundEndpoints are related: by installation, by target Service, by the port of the forwarders."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.families.bindings.model.options import Options
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.view import View


def group_of(endpoint: BoundEndpoint) -> Key:
    return Key(endpoint.spec.target.namespace, endpoint.spec.target.service)


GROUP_MEMBERS = Index(BoundEndpoint, lambda endpoint: (group_of(endpoint),), "members of a service.namespace")
BY_PORT = Index(
    BoundEndpoint, lambda endpoint: ((endpoint.metadata.namespace, endpoint.spec.port),), "by the forwarders' port"
)
IN_NAMESPACE = Index(BoundEndpoint, lambda endpoint: (endpoint.metadata.namespace,), "of an installation")


def belongs(endpoint: BoundEndpoint, options: Options) -> bool:
    """Whether it is of this installation."""
    return endpoint.metadata.namespace == options.namespace


def members(view: View, group: Key, options: Options) -> list[BoundEndpoint]:
    return [endpoint for endpoint in view.by(GROUP_MEMBERS, group) if belongs(endpoint, options)]


def by_age(endpoints: Iterable[BoundEndpoint]) -> list[BoundEndpoint]:
    return sorted(endpoints, key=_age)


def _age(endpoint: BoundEndpoint) -> tuple[str, str, str]:
    metadata = endpoint.metadata
    return metadata.creation_timestamp or "", metadata.namespace, metadata.name


def port_holder(view: View, endpoint: BoundEndpoint) -> Key | None:
    """The older BoundEndpoint that has the port of this one's forwarders; None where it has the port itself."""
    port = (endpoint.metadata.namespace, endpoint.spec.port)
    oldest = by_age(other for other in view.by(BY_PORT, port) if not other.deleting)
    return oldest[0].key if oldest and oldest[0].key != endpoint.key and not endpoint.deleting else None
