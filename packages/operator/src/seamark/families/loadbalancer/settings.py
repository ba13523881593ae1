"""How the family runs: `SEAMARK_LB_…` and `SEAMARK_EDGE_API_…` in the environment, or a file that
`SEAMARK_LB_SETTINGS` names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from seamark.families.loadbalancer.model.options import ANY_CLUSTER, Intervals, Options
from seamark.providers.edge.memory import memory_edge
from seamark.providers.edge.ngrok import API, ngrok_cloud
from seamark.providers.edge.objectcache import Freshness
from seamark.providers.edge.protocol import EdgeProvider
from seamark.providers.edge.seamark import seamark_edge
from seamark_runtime.errors import UserError
from seamark_runtime.settings import load

PROVIDERS = ("seamark", "ngrok", "memory")
LOCAL = "http://127.0.0.1:4040"


class LoadBalancerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which Services are served, and through which edge."""

    lb_class: Annotated[str, Meta(description="The loadBalancerClass of the Services that are served")] = "ngrok"
    lb_provider: Annotated[str, Meta(description="seamark (a self-hosted edge), ngrok (the cloud) or memory")] = (
        "seamark"
    )
    lb_api_url: Annotated[str, Meta(description="The URL of the edge's API; empty for the provider's default")] = ""
    lb_api_key: Annotated[str, Meta(description="The key for the edge's API")] = ""
    lb_api_key_file: Annotated[str, Meta(description="A file with that key")] = ""
    lb_api_ca: Annotated[str, Meta(description="A file of certificates to trust there; empty for the system's")] = ""
    lb_requests_per_minute: Annotated[
        int, Meta(description="The edge's budget of API requests, where it is not the usual one; 0 for that", ge=0)
    ] = 0
    lb_cluster: Annotated[
        str, Meta(description="This cluster's name at the edge: what it makes there is known by it", min_length=1)
    ] = ANY_CLUSTER
    lb_cluster_domain: Annotated[str, Meta(description="The domain of Services: what follows service.namespace")] = (
        "svc.cluster.local"
    )
    lb_cross_namespace_upstreams: Annotated[
        bool,
        Meta(
            description="Endpoints may name Services and endpoints of any namespace, and private addresses, ungranted"
        ),
    ] = False
    lb_cross_namespace_bindings: Annotated[
        bool,
        Meta(description="Endpoints with the binding kubernetes may name Services to be made in any namespace"),
    ] = False
    lb_namespace: Annotated[str, Meta(description="The operator's own namespace")] = "seamark-system"
    lb_drain: Annotated[
        str,
        Meta(
            description="Before an uninstall: let everything go, and Delete or Retain what is at the edge",
            pattern="^(|Delete|Retain)$",
        ),
    ] = ""
    lb_poll: Annotated[float, Meta(description="Seconds between two looks at what agents hold", ge=1)] = 5.0
    lb_verify: Annotated[
        float, Meta(description="Seconds after which what we have at the edge is listed again", ge=5)
    ] = 60.0
    lb_sweep: Annotated[
        float,
        Meta(
            description="Seconds after which an address, endpoint or domain at the edge is removed whose object is"
            " gone; 0 for never. Without a name for the cluster (lb_cluster) only what has the uid of this cluster in"
            " its mark; of two clusters that were given the same name, each would remove what is the other's",
            ge=0,
        ),
    ] = 600.0
    lb_shelf_life: Annotated[
        float,
        Meta(description="Seconds after which what the edge has not confirmed is Unknown", gt=0),
    ] = 180.0


def loaded() -> LoadBalancerSettings:
    file = os.environ.get("SEAMARK_LB_SETTINGS", "")
    return load(LoadBalancerSettings, file=file, environment=os.environ, flags={})


def options_of(settings: LoadBalancerSettings) -> Options:
    drain: Any = settings.lb_drain  # the pattern of the setting allows nothing else
    return Options(
        settings.lb_class,
        settings.lb_cluster,
        settings.lb_cluster_domain,
        settings.lb_namespace,
        drain,
        settings.lb_cross_namespace_upstreams,
        settings.lb_sweep,
        settings.lb_cross_namespace_bindings,
        Intervals(settings.lb_poll, settings.lb_verify, settings.lb_shelf_life),
    )


def provider_of(settings: LoadBalancerSettings) -> EdgeProvider:
    # A listing counts until the next call after it: its age is then within the shelf life.
    stands = max(settings.lb_verify, settings.lb_shelf_life - settings.lb_verify)
    freshness = Freshness(settings.lb_verify, stands)
    match settings.lb_provider:
        case "seamark":
            budget = settings.lb_requests_per_minute
            return seamark_edge(settings.lb_api_url or LOCAL, key_of(settings), settings.lb_api_ca, freshness, budget)
        case "ngrok":
            return ngrok_cloud(key_of(settings), settings.lb_api_url or API, freshness)
        case "memory":
            return memory_edge(freshness=freshness)
    raise UserError(f"there is no edge provider {settings.lb_provider!r}", hint=f"there are {', '.join(PROVIDERS)}")


def key_of(settings: LoadBalancerSettings) -> str:
    if not settings.lb_api_key_file:
        return settings.lb_api_key
    try:
        return Path(settings.lb_api_key_file).read_text().strip()
    except OSError as error:
        raise UserError(f"lb_api_key_file {settings.lb_api_key_file}: {error.strerror}") from None
