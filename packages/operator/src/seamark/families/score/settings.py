"""Where the platform's configuration is, and how the Kubernetes runtime finds out whether a Workload is reached.

`SEAMARK_SCORE_…` in the environment.
"""

from __future__ import annotations

import os
from typing import Annotated

import msgspec
from msgspec import Meta

from seamark.families.score.model.options import Options, Pace
from seamark.families.score.platform.configuration import KEY
from seamark_runtime.api.meta import Key
from seamark_runtime.reach import loopback_counts
from seamark_runtime.resolver import Resolver
from seamark_runtime.settings import load

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DOMAIN = rf"^(|{LABEL}(\.{LABEL})*)$"


class ScoreSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the configuration is, where names are looked up, and how often what is published is tried."""

    score_namespace: Annotated[
        str, Meta(description="The namespace of the platform's configuration; empty for score-system")
    ] = ""
    score_domain: Annotated[
        str,
        Meta(
            description="The public domain below which resources of the type dns get a host name; empty: they get one "
            "inside the cluster, by which no route can be reached",
            pattern=DOMAIN,
        ),
    ] = ""
    score_resolver: Annotated[
        str, Meta(description="The name server that host names are looked up at, ADDRESS:PORT; empty for the system's")
    ] = ""
    score_probe_every: Annotated[float, Meta(description="Seconds between two tries of an endpoint", gt=0)] = 5.0
    score_gateway_namespaces: Annotated[
        tuple[str, ...],
        Meta(description="Where the load balancers of Gateways may be, beside the namespace of each Gateway"),
    ] = ("seamark-system",)
    score_pod_network: Annotated[
        str,
        Meta(
            description="Whether Pods can be connected to from here: reachable, unreachable, or auto (from a Pod, and "
            "to Pods with loopback addresses)",
            pattern="^(auto|reachable|unreachable)$",
        ),
    ] = "auto"
    score_lookup_every: Annotated[float, Meta(description="Seconds between two looks at a host name", gt=0)] = 30.0


def loaded() -> ScoreSettings:
    return load(ScoreSettings, file=os.environ.get("SEAMARK_SCORE_SETTINGS", ""), environment=os.environ, flags={})


def options_of(settings: ScoreSettings) -> Options:
    """Only in the Pod network Pods can be tried, and only in a Pod the names of the cluster's DNS."""
    network = settings.score_pod_network
    return Options(
        inside=network != "unreachable" and "KUBERNETES_SERVICE_HOST" in os.environ,
        pod_network=network == "reachable",
        loopback=network == "auto" and loopback_counts(),
        pace=Pace(settings.score_probe_every, settings.score_lookup_every),
        gateway_namespaces=settings.score_gateway_namespaces,
        domain=settings.score_domain,
        config_key=Key(settings.score_namespace or KEY.namespace, KEY.name),
    )


def resolver_of(settings: ScoreSettings) -> Resolver:
    return Resolver(settings.score_resolver)
