"""What is set for the whole family."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from seamark_runtime.upstreams import UpstreamRules

Drain = Literal["", "Delete", "Retain"]  # before an uninstall: what becomes of what is at the edge


@dataclass(frozen=True, slots=True)
class Intervals:
    """In seconds."""

    poll: float = 5.0  # how often what agents hold is listed
    verify: float = 60.0  # how often what we have at the edge is compared with what is wanted, by one listing for all
    shelf_life: float = 180.0  # how long a response counts without a new one
    spacing: float = 0.5
    linger: float = 8.0  # how long a first status of an endpoint waits for agents and the edge
    soon: float = 1.0  # how often what agents hold is listed while they are about to take an endpoint
    dial: float = 4.0  # how often the agents behind an endpoint dial its upstream
    dial_shelf_life: float = 15.0
    dial_timeout: float = 5.0  # an edge waits for an agent a little less
    hold: float = 600.0  # how long a place is kept for its former namespace, as the edge keeps names for authtokens


ANY_CLUSTER = "kubernetes"  # the name of clusters that were given none


@dataclass(frozen=True, slots=True)
class Options:
    """`drain`: before an uninstall everything is released; what is at the edge is deleted there, or retained."""

    lb_class: str = "ngrok"
    cluster: str = ANY_CLUSTER
    cluster_domain: str = "svc.cluster.local"
    namespace: str = "seamark-system"  # the operator's own
    drain: Drain = ""
    cross_namespace: bool = False  # AgentEndpoints may name Services of other namespaces
    sweep: float = 0.0  # seconds after which what is at the edge for an object that is gone is removed; 0: never
    cross_namespace_bindings: bool = False  # endpoints may be bound into other namespaces
    timing: Intervals = field(default_factory=Intervals)

    @property
    def named(self) -> bool:
        """Whether the cluster has a name of its own at the edge."""
        return self.cluster != ANY_CLUSTER

    @property
    def upstream_rules(self) -> UpstreamRules:
        return UpstreamRules(self.cluster_domain, self.cross_namespace, self.cross_namespace_bindings)
