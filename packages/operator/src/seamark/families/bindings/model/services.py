"""How the upstream Service of a BoundEndpoint is named."""

from __future__ import annotations

from seamark.families.bindings.model.options import Options
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.meta import Key


def upstream_host(endpoint: BoundEndpoint, options: Options) -> str:
    return f"{endpoint.metadata.name}.{options.namespace}.svc.{options.cluster_domain}"


def upstream_key(endpoint: BoundEndpoint, options: Options) -> Key:
    return Key(options.namespace, endpoint.metadata.name)
