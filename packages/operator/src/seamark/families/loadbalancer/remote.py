"""The calls of the family, performed at the edge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark.families.loadbalancer.cloudendpoint.state import Close, Open
from seamark.families.loadbalancer.domain.state import GiveUp, Reserve
from seamark.families.loadbalancer.model.options import Intervals
from seamark.families.loadbalancer.model.reservations import Reservations
from seamark.families.loadbalancer.model.upstreams import Dial
from seamark.families.loadbalancer.online.reconcile import uid_in
from seamark.families.loadbalancer.online.state import Look, Online
from seamark.families.loadbalancer.service.state import Find, Keep
from seamark.families.loadbalancer.sweep.state import ADDRESS, DOMAIN, ListOwned, Owned, Remove
from seamark.providers.edge.batches import Batches
from seamark.providers.edge.protocol import EdgeProvider
from seamark_edge.model import Endpoint, Owner, Upstream
from seamark_edge.urls import key_of
from seamark_runtime.clock import Clock
from seamark_runtime.errors import Retry

WINDOW = 0.5  # seconds in which questions about upstreams are put together in one request
PAGE = 100  # endpoints in one response of an edge
GENTLE = 0.5  # seconds for each request of a poll, however large the budget
BUDGET = 0.1  # the part of an edge's requests that polls may take

Action = Keep | Find | Reserve | GiveUp | Open | Close | Look | Dial | ListOwned | Remove


def belongs(endpoint: Endpoint, uid: str, place: str) -> bool:
    """Whether agents hold this endpoint for the object; those that are not our own name no object."""
    if endpoint.type != "agent":
        return False
    named = uid_in(endpoint.name)
    return named == uid if named else key_of(endpoint.url) == place


def swept(kind: str, owners: Iterable[Owner]) -> list[Owned]:
    """A domain only where its mark has the policy Delete: it is used by name outside of the cluster, too."""
    return [Owned(kind, owner) for owner in owners if kind != DOMAIN or owner.reclaim == "Delete"]


@dataclass
class Remote:
    """Performs the family's actions at one edge. After a transient failure, a poll gives the last result."""

    provider: EdgeProvider
    timing: Intervals
    clock: Clock
    hurried: Callable[[], bool] = lambda: False  # whether a status waits for what agents are about to do
    reservations: Reservations = field(default_factory=Reservations)
    _polled: Online = field(default_factory=Online)
    _polled_at: float = float("-inf")
    _dialled: dict[str, tuple[float, Upstream]] = field(default_factory=dict)  # by uid: the last report, and when

    def __post_init__(self) -> None:
        self._polling = asyncio.Lock()
        self._dials: Batches[Upstream] = Batches(self.provider.upstreams, WINDOW, PAGE)

    async def perform(self, action: Action) -> Any:  # noqa: PLR0911  one line for each action
        provider = self.provider
        match action:
            case Keep(owner, purposes):
                kept: Mapping[str, Any] = await provider.keep_addresses(owner, purposes)
                addresses = {purpose: address.addr for purpose, address in kept.items()}
                self.reservations.record(owner, addresses.values())
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
                return await self._poll()
            case ListOwned(cluster, uid):
                found = await provider.owners(cluster, uid)
                return tuple(sorted(owned for kind, owners in found.items() for owned in swept(kind, owners)))
            case Remove(Owned(kind=kind, owner=owner)):
                removals = {ADDRESS: provider.release_address, DOMAIN: provider.release_domain}
                return await removals.get(kind, provider.close_endpoint)(owner)
            case Dial():
                return await self._dial(action)

    async def keep_connected(self) -> None:
        """A companion, for one term of leadership; at its end connections to the edge are closed."""
        try:
            await asyncio.Event().wait()
        finally:
            self.reservations.clear()
            await self._dials.close()
            await self.provider.close()

    @property
    def _interval(self) -> float:
        """How long the last poll counts; polling many endpoints is limited to a part of the edge's budget."""
        pages = 2 + len(self._polled.endpoints) // PAGE
        costs = pages * max(60 / (BUDGET * self.provider.capabilities.requests_per_minute), GENTLE)
        return max(0.9 * self.timing.soon if self.hurried() else self.timing.poll, costs)

    async def _dial(self, action: Dial) -> Upstream:
        """Checks one of the endpoints that exist: the edge asks all agents that share it."""
        uid, idents = action.uid, [action.ident]
        if not action.ident:
            online = await self._poll()
            idents = [endpoint.id for endpoint in online.endpoints if belongs(endpoint, uid, action.place)]
        for ident in idents:
            try:
                found = await self._dials.ask(ident)
            except Retry:
                at, before = self._dialled.get(uid, (float("-inf"), Upstream(None)))
                if self.clock.monotonic() - at > self.timing.dial_shelf_life - self.timing.dial:
                    raise
                return before
            if found is not None:
                self._dialled[uid] = (self.clock.monotonic(), found)
                return found
        self._dialled.pop(uid, None)
        return Upstream(None, "the edge does not have the endpoint any more")

    async def _poll(self) -> Online:
        async with self._polling:
            return await self._polled_lately()

    async def _polled_lately(self) -> Online:
        began = self.clock.monotonic()
        if began - self._polled_at < self._interval:
            return self._polled
        try:
            endpoints = await self.provider.online()
            refused = [endpoint for session in await self.provider.sessions() for endpoint in session.refused]
            self._polled, self._polled_at = Online(endpoints, tuple(refused)), began
        except Retry:
            if began - self._polled_at > self.timing.shelf_life:
                raise
        return self._polled
