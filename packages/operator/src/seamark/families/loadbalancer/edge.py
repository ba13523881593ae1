"""What is asked of the edge, as data, and who carries it out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from seamark.families.loadbalancer.reservations import Reservations
from seamark.providers.edge.protocol import EdgeProvider
from seamark_edge.model import Domain, DomainSpec, Endpoint, EndpointSpec, Owner, PolicyRefusal, RefusedEndpoint
from seamark_runtime.api.meta import Object
from seamark_runtime.clock import Clock, SystemClock
from seamark_runtime.errors import Retry

PAGE = 100  # endpoints in one answer of an edge
Drain = Literal["", "Delete", "Retain"]  # before an uninstall: what becomes of what is at the edge
GENTLE = 0.5  # seconds for each request of a look, however large the budget
BUDGET = 0.1  # the part of an edge's requests that looking may take


@dataclass(frozen=True)
class Timing:
    """`poll`: how often is looked what agents hold. `verify`: how often what we have at the edge is compared with what
    is wanted (by one listing for all). `shelf_life`: how long an answer counts without a new one. `hold`: how long a
    place stays its namespace's after that has given it up."""

    poll: float = 5.0
    verify: float = 60.0
    shelf_life: float = 180.0
    spacing: float = 0.5
    linger: float = 8.0  # a first statement about an endpoint waits so long for agents and the edge
    soon: float = 1.0  # how often is looked while agents are about to take an endpoint
    hold: float = 600.0  # as the edge keeps names for authtokens


# ---- actions; ANSWER is what comes of one


@dataclass(frozen=True)
class Keep:
    """A Service's addresses are exactly these, one for each purpose. The answer: purpose → host:port."""

    ANSWER: ClassVar[Any] = dict[str, str]
    owner: Owner
    purposes: tuple[str, ...]


@dataclass(frozen=True)
class Find:
    """Whether an address is reserved in this account, by whomever."""

    ANSWER: ClassVar[Any] = bool
    addr: str


@dataclass(frozen=True)
class Reserve:
    ANSWER: ClassVar[Any] = Domain
    owner: Owner
    domain: str
    wanted: DomainSpec


@dataclass(frozen=True)
class GiveUp:
    """A domain is deleted with its object, or stays reserved without an owner."""

    ANSWER: ClassVar[Any] = None
    owner: Owner
    retain: bool


@dataclass(frozen=True)
class Open:
    ANSWER: ClassVar[Any] = Endpoint
    owner: Owner
    wanted: EndpointSpec


@dataclass(frozen=True)
class Close:
    ANSWER: ClassVar[Any] = None
    owner: Owner


@dataclass(frozen=True)
class Online:
    """Everything that is online, of any holder, and what was refused to agents."""

    endpoints: tuple[Endpoint, ...] = ()
    refused: tuple[RefusedEndpoint, ...] = ()


@dataclass(frozen=True)
class Look:
    """What is online at the edge?"""

    ANSWER: ClassVar[Any] = Online


Action = Keep | Find | Reserve | GiveUp | Open | Close | Look


def owner_of(obj: Object, cluster: str) -> Owner:
    return Owner(cluster, obj.metadata.namespace, obj.metadata.name, obj.uid)


@dataclass
class Work:
    """Carries out actions at one edge. A look that fails for a moment gives what was seen last."""

    provider: EdgeProvider
    timing: Timing = field(default_factory=Timing)
    clock: Clock = field(default_factory=SystemClock)
    reservations: Reservations = field(default_factory=Reservations)
    hurried: bool = False  # a status waits for what agents are about to do
    _seen: Online = field(default_factory=Online)
    _seen_at: float = float("-inf")

    @property
    def policy_refusal(self) -> PolicyRefusal:
        return self.provider.capabilities.policy_refusal

    async def perform(self, action: Action) -> Any:  # noqa: PLR0911  one line for each action
        provider = self.provider
        match action:
            case Keep(owner, purposes):
                kept: Mapping[str, Any] = await provider.keep_addresses(owner, purposes)
                addresses = {purpose: address.addr for purpose, address in kept.items()}
                self.reservations.note(owner, addresses.values())
                return addresses
            case Find(addr):
                return await provider.find_address(addr) is not None
            case Reserve(owner, domain, wanted):
                return await provider.reserve_domain(owner, domain, wanted)
            case GiveUp(owner, retain):
                return await (provider.retain_domain(owner) if retain else provider.release_domain(owner))
            case Open(owner, spec):
                return await provider.open_endpoint(owner, spec)
            case Close(owner):
                return await provider.close_endpoint(owner)
            case Look():
                return await self._look()

    async def keep_connected(self) -> None:
        """Beside the workers, as long as there are any: then connections to the edge are closed in good order."""
        try:
            await asyncio.Event().wait()
        finally:
            self.reservations.clear()
            await self.provider.close()

    @property
    def _interval(self) -> float:
        """How long the last look will do; looking at many endpoints is kept to a part of the edge's budget."""
        pages = 2 + len(self._seen.endpoints) // PAGE
        costs = pages * max(60 / (BUDGET * self.provider.capabilities.requests_per_minute), GENTLE)
        return max(0.9 * self.timing.soon if self.hurried else self.timing.poll, costs)

    async def _look(self) -> Online:
        asked = self.clock.monotonic()
        if asked - self._seen_at < self._interval:
            return self._seen
        try:
            endpoints = await self.provider.online()
            refused = [one for session in await self.provider.sessions() for one in session.refused]
            self._seen, self._seen_at = Online(endpoints, tuple(refused)), asked
        except Retry:
            if asked - self._seen_at > self.timing.shelf_life:
                raise
        return self._seen
