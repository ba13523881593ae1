"""What is online: endpoints of agents and of the API, by the place they are reached at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol, TypeVar

from seamark_edge.edge.errors import Refusal, already_online, in_use
from seamark_edge.edge.policy import ANYWHERE, EMPTY, Policy, Ranges
from seamark_edge.edge.reports import Report
from seamark_edge.edge.urls import EndpointUrl, wildcard_above
from seamark_edge.wire.muxado import Handler, Stream
from seamark_edge.wire.tunnel import UpstreamReport

K = TypeVar("K")

MAX_HOPS = 5  # forwards that one connection follows
MAX_PLACES = 256  # places that are looked at when a policy is set


class Agent(Protocol):
    """The connection to the holder of an endpoint."""

    id: str
    gentle: bool  # this agent can't take a reset: its streams are abandoned instead
    reports: bool  # this agent reports the result of each dial, and checks upstreams on demand

    def open_proxy(self, entry: Entry, client: str, handler: Handler, first: bytes) -> Stream:
        """A stream to the agent for one client's connection; raises SessionClosed if the agent takes none."""

    async def check(self, entry: Entry) -> UpstreamReport:
        """Has the agent dial the upstream of its endpoint now; of agents with `reports` only."""


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
    report: Report | None = None  # of its upstream; None: nothing is known
    opening: bool = False  # has its place, but its agent has no response yet: no connection is sent there

    @property
    def public(self) -> bool:
        return self.binding == "public"

    @property
    def place(self) -> str:
        """The key of its place. A host of a kubernetes binding may look like a public one; the two never meet."""
        return kubernetes_place(self.url) if self.binding == "kubernetes" else self.url.key

    @property
    def judges(self) -> bool:
        return bool(self.policy.rules) or self.ranges != ANYWHERE

    @property
    def forwards(self) -> frozenset[str]:
        """The places that its policy may send a connection on to."""
        actions = (action for rule in self.policy.rules for action in rule.actions)
        return frozenset(action.url for action in actions if action.type == "forward-internal")


@dataclass(slots=True, eq=False)
class Group:
    """All endpoints at one place. With more than one, connections are spread over them in turn."""

    entries: list[Entry] = field(default_factory=list)
    turn: int = 0
    forwards: Counter[str] = field(default_factory=Counter)  # where the entries forward to, and how many of them do
    owners: Counter[str] = field(default_factory=Counter)  # the credentials of the entries; "" for the API's
    judging: int = 0  # entries with a policy or source ranges: a connection costs more than to look them up

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.forwards.update(entry.forwards)
        self.owners[entry.credential] += 1
        self.judging += entry.judges

    def remove(self, entry: Entry) -> None:
        self.entries.remove(entry)
        for key in entry.forwards:
            _decrement(self.forwards, key)
        _decrement(self.owners, entry.credential)
        self.judging -= entry.judges

    def in_turn(self, most: int) -> list[Entry]:
        """Every member once, a different one first each time; at most so many of them."""
        self.turn += 1
        count = len(self.entries)
        start = self.turn % count
        return [self.entries[(start + number) % count] for number in range(min(most, count))]


class Registry:
    """The endpoints that are online now.

    - `add` refuses a place that is taken, unless all endpoints there pool, and an endpoint whose policy forwards in a
      circle or over more than `MAX_HOPS` places, as far as that can be seen now.
    - A public host name, or a wildcard, belongs to one owner in all its schemes: `http`, `https` and `tls`.
    - Lookups by host find public endpoints only and know wildcards. A wildcard receives no connection for a host that
      has an endpoint in any scheme, nor for one that is kept for another owner.
    - Lookups by agent and by credential cost what they give.
    """

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self.entries: dict[str, Entry] = {}
        self._hosts: dict[str, dict[str, Group]] = {}  # of `_groups`, the public ones with a host name: by host and key
        self._of_agent: dict[str, dict[str, Entry]] = {}  # by the agent's id; only agents with endpoints
        self._binds: dict[tuple[str, str], dict[str, Entry]] = {}  # by the agent's id and the bind's, in their order
        self._of_credential: Counter[str] = Counter()
        self.kept_for_another: Callable[[str, str], bool] = lambda host, credential: False  # hosts of agents that left

    def add(self, entry: Entry, *, restored: bool = False) -> None:
        """Put it online. `restored`: it was before, and is put back as it was."""
        group = self._groups.get(entry.place)
        if self._name_is_taken(entry):
            raise in_use(str(entry.url))
        if group and not _may_share(entry, group.entries[0]):
            pooled = entry.pooling and group.entries[0].pooling
            raise in_use(str(entry.url)) if pooled else already_online(str(entry.url))
        if not restored:
            self._check_forwards(entry)
        if group is None:
            group = self._groups[entry.place] = Group()
            if entry.public and entry.url.by_name:
                self._hosts.setdefault(entry.url.host, {})[entry.url.key] = group
        group.add(entry)
        self.entries[entry.id] = entry
        self._of_credential[entry.credential] += 1
        if entry.agent is not None:
            self._of_agent.setdefault(entry.agent.id, {})[entry.id] = entry
            self._binds.setdefault((entry.agent.id, entry.bind_id), {})[entry.id] = entry

    def _name_is_taken(self, entry: Entry) -> bool:
        """Whether another owner has this host in another scheme."""
        if not entry.public or not entry.url.by_name:
            return False
        others = (group for key, group in self._hosts.get(entry.url.host, {}).items() if key != entry.url.key)
        return any(group.owners.keys() != {entry.credential} for group in others)

    def remove(self, entry: Entry) -> bool:
        """Takes it offline; True if no endpoint is left at its place."""
        if self.entries.pop(entry.id, None) is None:
            return False
        self._uncount(entry)
        group = self._groups[entry.place]
        group.remove(entry)
        if group.entries:
            return False
        del self._groups[entry.place]
        if entry.public:
            self._forget_host(entry.url)
        return True

    def _forget_host(self, url: EndpointUrl) -> None:
        groups = self._hosts.get(url.host, {})
        groups.pop(url.key, None)
        if not groups:
            self._hosts.pop(url.host, None)

    def _uncount(self, entry: Entry) -> None:
        _decrement(self._of_credential, entry.credential)
        if entry.agent is not None:
            _discard(self._of_agent, entry.agent.id, entry)
            _discard(self._binds, (entry.agent.id, entry.bind_id), entry)

    def _check_forwards(self, entry: Entry) -> None:
        """Breadth first over places, each once: what is found is found in the fewest hops."""
        seen: set[str] = set()
        places = entry.forwards
        for _ in range(MAX_HOPS):
            if entry.url.key in places:
                raise Refusal(2201, f"the traffic policy can't be used: forward-internal leads back to {entry.url}")
            seen |= places
            groups = [group for key in islice(places, MAX_PLACES) if (group := self._groups.get(key)) is not None]
            places = frozenset(key for group in groups for key in islice(group.forwards, MAX_PLACES)) - seen
            if not places or len(seen) > MAX_PLACES:
                return
        raise Refusal(
            2201, f"the traffic policy can't be used: forward-internal leads over more than {MAX_HOPS} endpoints"
        )

    def find(self, key: str) -> Group | None:
        return self._groups.get(key)

    def has_host(self, host: str) -> bool:
        """Whether a public endpoint has this host, in any scheme."""
        return host in self._hosts

    def find_host(self, schemes: Sequence[str], host: str, port: int) -> Group | None:
        """The public endpoints for this name: the exact name in each of the schemes first, then the wildcard."""
        exact = self._named(schemes, host, port)
        if exact is not None or self.has_host(host) or not (wildcard := wildcard_above(host)):
            return exact
        found = self._named(schemes, wildcard, port)
        if found is None or any(self.kept_for_another(host, owner) for owner in found.owners):
            return None
        return found

    def _named(self, schemes: Sequence[str], host: str, port: int) -> Group | None:
        groups = self._hosts.get(host, {})
        keys = (EndpointUrl(scheme, host, port).key for scheme in schemes)
        return next((groups[key] for key in keys if key in groups), None)

    def of_agent(self, agent: Agent) -> list[Entry]:
        return list(self._of_agent.get(agent.id, {}).values())

    def of_bind(self, agent: Agent, bind_id: str) -> Entry | None:
        """The oldest endpoint of this agent with this id of a bind."""
        return next(iter(self._binds.get((agent.id, bind_id), {}).values()), None)

    def of_credential(self, credential: str) -> int:
        return self._of_credential[credential]


def kubernetes_place(url: EndpointUrl) -> str:
    """The key of the place of endpoints with the kubernetes binding."""
    return f"kubernetes {url.key}"


def _may_share(entry: Entry, other: Entry) -> bool:
    """Several endpoints are at one place only if all of them pool."""
    return entry.pooling and other.pooling


def _discard(held: dict[K, dict[str, Entry]], key: K, entry: Entry) -> None:
    entries = held.get(key, {})
    entries.pop(entry.id, None)
    if not entries:
        held.pop(key, None)


def _decrement(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
