"""What Seamark needs of an edge. One protocol for its own, for the cloud, and for the fake in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from typing import Protocol

from seamark_edge.model import (
    Address,
    AgentSession,
    Bound,
    Capabilities,
    Domain,
    DomainSpec,
    Endpoint,
    EndpointSpec,
    Operator,
    OperatorSpec,
    Owner,
    Snapshot,
    Upstream,
)


class EdgeProvider(Protocol):
    """An edge.

    - Making something is finding it first: called twice, or again after a reply was lost, it gives the same object.
    - What the edge has under another owner raises `Exists`; it is not touched.
    - Releasing what does not exist is success.
    - Errors are those of `core.errors`: `Retry` (with the edge's own `after`), `Uncertain` (it may have happened: ask
      again, it is adopted), `Refused` (in the edge's words), `Exists`, `Gone`.
    """

    @property
    def capabilities(self) -> Capabilities: ...

    async def reserve_address(self, owner: Owner) -> Address: ...

    async def release_address(self, owner: Owner) -> None: ...

    async def keep_addresses(self, owner: Owner, purposes: Collection[str]) -> Mapping[str, Address]:
        """The owner's addresses are exactly these: what is missing is reserved, what else there is is released."""

    async def find_address(self, addr: str) -> Address | None:
        """The address host:port if it is reserved in this account, by whomever."""

    async def reserve_domain(self, owner: Owner, domain: str, wanted: DomainSpec = ...) -> Domain:
        """One that was reserved by hand is used as it is; that of another owner of ours raises `Exists`."""

    async def release_domain(self, owner: Owner) -> None: ...

    async def retain_domain(self, owner: Owner) -> None:
        """It stays reserved, without an owner of ours."""

    async def open_endpoint(self, owner: Owner, wanted: EndpointSpec) -> Endpoint:
        """Make it, or bring it to what is wanted; nothing is sent when it is so already."""

    async def close_endpoint(self, owner: Owner) -> None: ...

    async def set_policy(self, owner: Owner, policy: str) -> Endpoint: ...

    async def register(self, owner: Owner, wanted: OperatorSpec) -> Operator: ...

    async def unregister(self, owner: Owner) -> None: ...

    async def registrations(self, cluster: str) -> Collection[Owner]:
        """The owners of this cluster that are registered."""

    async def bound_endpoints(self, operator: str) -> tuple[Bound, ...]: ...

    async def holders(self, url: str) -> tuple[Endpoint, ...]:
        """The endpoints at this URL that agents hold right now, one for each agent. One request, of one page."""

    async def online(self) -> tuple[Endpoint, ...]:
        """Everything that is online right now, of any holder, by one listing."""

    async def upstreams(self, idents: Collection[str]) -> Mapping[str, Upstream]:
        """Whether agents reach the upstreams of these endpoints, dialled now. An endpoint that is gone is left out."""

    async def sessions(self) -> tuple[AgentSession, ...]:
        """Agents that are connected, and which endpoints they were refused. Empty where the agents are not our own."""

    async def owners(self, cluster: str, cluster_uid: str = "") -> Mapping[str, Collection[Owner]]:
        """The owners of this cluster that the edge has an `address`, an `endpoint` or a `domain` for, each as its mark
        there has it. With a uid only those whose mark has it: other clusters may have the same name."""

    async def owned(self, cluster: str) -> Snapshot:
        """What is at the edge for this cluster, listed now: a sweep releases what is not wanted any more."""

    def watch(self, cluster: str, every: float) -> AsyncIterator[Snapshot]:
        """Snapshots, each different from the one before. Polled where the service can't push."""

    async def probe(self) -> None:
        """Ask something small; raises if the edge does not answer or does not know us."""

    async def close(self) -> None: ...
