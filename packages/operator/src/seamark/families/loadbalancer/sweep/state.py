"""What the sweep is decided from, and its actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from seamark.families.loadbalancer.model.options import Intervals
from seamark_edge.model import Owner
from seamark_runtime.calls import Results

ADDRESS, ENDPOINT, DOMAIN = "address", "endpoint", "domain"


@dataclass(frozen=True, slots=True, order=True)
class Owned:
    """Something at the edge, and the object that it was made for.

    An address was made for a Service, an endpoint for a CloudEndpoint, a domain for a Domain.
    """

    kind: str
    owner: Owner


@dataclass(frozen=True)
class ListOwned:
    """List what at the edge has the mark of this cluster, except domains that are to be retained.

    With a uid it has to be in the mark, too: the name may be that of other clusters.
    """

    ANSWER: ClassVar[Any] = tuple[Owned, ...]
    cluster: str
    cluster_uid: str


@dataclass(frozen=True)
class Remove:
    """Remove what is there for this owner."""

    ANSWER: ClassVar[Any] = None
    owned: Owned


@dataclass(frozen=True, slots=True)
class Seen:
    results: Results
    timing: Intervals
    action: ListOwned
    due: tuple[Owned, ...]
