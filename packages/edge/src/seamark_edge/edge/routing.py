"""Which agents' endpoints serve a client: by their places, policies and source ranges."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol
from weakref import WeakValueDictionary

from seamark_edge.edge.errors import Refusal, offline
from seamark_edge.edge.failures import Failures
from seamark_edge.edge.fairshare import FairShare
from seamark_edge.edge.limits import ConnectionLimit, Pacer, source_of
from seamark_edge.edge.metrics import EdgeMetrics
from seamark_edge.edge.policy import Client, Ranges
from seamark_edge.edge.registry import MAX_HOPS, Entry, Registry
from seamark_edge.edge.settings import EdgeSettings
from seamark_runtime.pacing import InputAccount

HANDSHAKES = 4  # that begin in one turn of the loop: each takes about a millisecond
PER_SLICE = 100  # connections whose state is read before others have their turn
MAX_LOOKED = 32  # endpoints whose policy is asked for one connection


class Denied(Refusal):
    """Denied by a policy or a source range."""

    def __init__(self, url: str) -> None:
        super().__init__(3205, f"connections from this address to {url} are not allowed", status=403)


class Connection(Protocol):
    """A connection of a client."""

    transport: asyncio.Transport | None

    def overdue(self, now: float, seconds: float) -> bool: ...

    def cut(self) -> None: ...


@dataclass(slots=True, eq=False)
class Router:
    """Decides who serves a client, and keeps the book of connections.

    - Policies and source ranges are asked first; forwards to internal endpoints are followed.
    - The work for one connection is bounded: each place is looked at once, at most `MAX_HOPS` forwards away, and at
      most `MAX_LOOKED` endpoints altogether.
    - Its time is charged to the owner of the first place, also for places that it forwards to.
    - `clients` are the slots of the public ports.
    """

    settings: EdgeSettings
    registry: Registry
    metrics: EdgeMetrics
    ip_rules: Callable[[str], Ranges]
    failures: Failures
    clients: ConnectionLimit
    share: FairShare = field(default_factory=FairShare)
    pacer: Pacer = field(default_factory=lambda: Pacer(HANDSHAKES))
    inputs: WeakValueDictionary[str, InputAccount] = field(default_factory=WeakValueDictionary)  # by source
    connections: set[Connection] = field(default_factory=set)
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.idle.set()

    def candidates(self, key: str, client: Client) -> list[Entry]:
        """Agents' endpoints for this client, the one to try first at the front; raises a Refusal if there is none."""
        search = Search(self, client)
        for _ in search.at(key):
            pass
        return search.result(key)

    def owner_of(self, key: str) -> str | None:
        """Who pays for the policies of this place; None if there are none."""
        group = self.registry.find(key)
        return f"token {group.entries[0].credential}" if group is not None and group.judging else None

    def holder_of(self, key: str) -> str:
        """The authtoken whose connections those to this place are; "" for an endpoint of the API, or none."""
        group = self.registry.find(key)
        return group.entries[0].credential if group is not None else ""

    def input_of(self, address: str) -> InputAccount:
        source = source_of(address)
        found = self.inputs.get(source)
        if found is None:
            found = self.inputs[source] = InputAccount()
        return found

    async def close_overdue(self) -> None:
        """Close the connections of clients that left while their agent takes and sends nothing."""
        for number, connection in enumerate(list(self.connections)):
            if not number % PER_SLICE:
                await asyncio.sleep(0)
            if connection.overdue(time.monotonic(), self.settings.half_closed_seconds):
                connection.cut()

    def enter(self, connection: Connection) -> None:
        self.connections.add(connection)
        self.idle.clear()

    def leave(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self.idle.set()


@dataclass(slots=True, eq=False)
class Search:
    """The endpoints that may serve one client. Each place is looked at once, so loops of forwards end."""

    router: Router
    client: Client
    found: list[Entry] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    left: int = MAX_LOOKED

    def result(self, key: str) -> list[Entry]:
        if not self.found:
            raise offline(key)
        return self.found

    def at(self, key: str, hops: int = 0) -> Iterator[None]:
        """Each step asks the policy of one endpoint."""
        group = self.router.registry.find(key)
        if group is None or key in self.seen or hops > MAX_HOPS:
            return
        self.seen.add(key)
        for entry in group.in_turn(self.left):
            if self.left <= 0:
                return
            self.left -= 1
            decision = entry.policy.judge(self.client, self.router.ip_rules)
            if decision.denied or not entry.ranges.admits(self.client.ip, self.router.ip_rules):
                raise Denied(str(entry.url))
            if decision.forward:
                yield
                yield from self.at(decision.forward, hops + 1)
            elif entry.agent is not None and not entry.opening:
                self.found.append(entry)
                yield
