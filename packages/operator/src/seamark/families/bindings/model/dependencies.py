"""What the kinds of the family are built with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from seamark.families.bindings.model.certificates import Certificates
from seamark.families.bindings.model.entries import GroupReport, Listing, PollReport, Projection
from seamark.families.bindings.model.options import Options
from seamark.families.bindings.model.ownership import OfProjection, OfTarget, OfUpstream
from seamark.families.bindings.model.verifications import Verifications
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.scope import Scope
from seamark_runtime.source import Collection, Facts

MANAGER, POLLER = "seamark-bindings", "seamark-bindings-poller"
SPACING = 0.25  # seconds between two reconciles of the whole of an installation
LINGER = 3.0  # seconds for which a first status waits for its probe


@dataclass(frozen=True)
class EdgeFacts:
    """What requests to the edge have found.

    - `listings`: what the edge last listed. It stays unchanged while the edge can't be reached.
    - `attempts`: how often the edge no longer knew an installation; it is registered anew then.
    """

    listings: Facts[Key, Listing] = field(default_factory=lambda: Facts("bound endpoints"))
    attempts: Facts[Key, int] = field(default_factory=lambda: Facts("registrations"))


@dataclass(frozen=True)
class Dependencies:
    options: Options
    perform: Callable[[Any], Awaitable[Any]]
    certificates: Certificates
    edge: EdgeFacts
    verifications: Verifications
    reachable: bool  # clients reach what is at the edge
    groups: Collection[Key, GroupReport] = field(default_factory=lambda: Collection("binding groups"))
    polls: Collection[Key, PollReport] = field(default_factory=lambda: Collection("polls of the edge"))
    projections: Collection[Key, Projection] = field(default_factory=lambda: Collection("what the edge binds here"))
    refusals: Collection[Key, str] = field(default_factory=lambda: Collection("refused bindings"))

    @property
    def upstream(self) -> OfUpstream:
        return OfUpstream(self.options.namespace)

    @property
    def target(self) -> OfTarget:
        return OfTarget(self.options.namespace)

    @property
    def projection(self) -> OfProjection:
        return OfProjection(self.options.key)

    @property
    def scopes(self) -> dict[type[Object], Scope]:
        """All but Services and Namespaces is watched in the installation's own namespace, and its rights end there."""
        return dict.fromkeys((BoundEndpoint, KubernetesOperator, Secret), Scope(self.options.namespace))
