"""What is online: endpoints of agents and of the API, by the place they are reached at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from seamark.edge.errors import already_online
from seamark.edge.policy import ANYWHERE, EMPTY, Policy, Ranges
from seamark.edge.urls import EndpointUrl
from seamark.wire.muxado import Handler, Stream


class Agent(Protocol):
    """The way to whoever holds an endpoint."""

    id: str
    gentle: bool  # this agent can't take a reset: its streams are abandoned instead

    def open_proxy(self, entry: Entry, client: str, handler: Handler, first: bytes) -> Stream:
        """A stream to the agent for one client's connection; raises SessionClosed if the agent takes none."""


@dataclass(slots=True, eq=False, kw_only=True)
class Entry:
    """One endpoint: held by an agent, or (agent is None) kept by the API and carried out by its policy."""

    id: str
    url: EndpointUrl
    binding: str
    created: str
    agent: Agent | None = None
    bind_id: str = ""
    credential: str = ""
    pooling: bool = False
    policy: Policy = EMPTY
    ranges: Ranges = ANYWHERE
    proxy_version: int = 0
    terminate: bool = False  # TLS ends at the edge
    metadata: str = ""
    description: str = ""
    forwards_to: str = ""
    forwards_proto: str = ""
    bind_token: str = ""
    name: str = ""  # what the agent calls it: the same in every replica that holds it
    generation: int = 0
    active: int = 0  # connections right now
    opening: bool = False  # has its place, and its agent has not been told: nobody else is, and none is sent there

    @property
    def public(self) -> bool:
        return self.binding == "public"


@dataclass(slots=True, eq=False)
class Group:
    """All endpoints at one place. With more than one, connections are spread over them in turn."""

    entries: list[Entry] = field(default_factory=list)
    turn: int = 0

    def in_turn(self) -> list[Entry]:
        """Every member once, a different one first each time."""
        self.turn += 1
        start = self.turn % len(self.entries)
        return self.entries[start:] + self.entries[:start]


class Registry:
    """The endpoints that are online now.

    - `add` refuses a place that is taken, unless everybody there pools.
    - Lookups by host know wildcards; an exact name wins.
    """

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self.entries: dict[str, Entry] = {}

    def add(self, entry: Entry) -> None:
        group = self._groups.get(entry.url.key)
        if group and not (entry.pooling and all(other.pooling for other in group.entries)):
            raise already_online(str(entry.url))
        if group is None:
            group = self._groups[entry.url.key] = Group()
        group.entries.append(entry)
        self.entries[entry.id] = entry

    def remove(self, entry: Entry) -> bool:
        """Take it offline; True if nobody is left at its place."""
        if self.entries.pop(entry.id, None) is None:
            return False
        group = self._groups[entry.url.key]
        group.entries.remove(entry)
        if group.entries:
            return False
        del self._groups[entry.url.key]
        return True

    def find(self, key: str) -> Group | None:
        return self._groups.get(key)

    def find_host(self, scheme: str, host: str, port: int) -> Group | None:
        found = self._groups.get(f"{scheme}://{host}:{port}")
        if found is None and "." in host:
            found = self._groups.get(f"{scheme}://*.{host.partition('.')[2]}:{port}")
        return found

    def of_agent(self, agent: Agent) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.agent is agent]

    def of_credential(self, credential: str) -> int:
        return sum(entry.credential == credential for entry in self.entries.values())
