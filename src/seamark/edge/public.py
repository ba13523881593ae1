"""A client's connection, from its first byte to the agent that serves it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from seamark.edge.errors import Refusal, offline
from seamark.edge.metrics import EdgeMetrics
from seamark.edge.policy import Client, Ranges
from seamark.edge.registry import Entry, Registry
from seamark.edge.settings import EdgeSettings
from seamark.wire import proxy_protocol
from seamark.wire.muxado import Code, SessionClosed
from seamark.wire.muxado.frames import Bytes
from seamark.wire.splice import Buffered, Channel, Splice

log = structlog.get_logger(__name__)

MAX_EARLY = 64 * 1024
MAX_HOPS = 5
NEVER_REACHED = (Code.STREAM_REFUSED, Code.ACCEPT_QUEUE_FULL, Code.REMOTE_GONE_AWAY)


Say = Callable[[Refusal], bytes]


def silence(_: Refusal) -> bytes:
    """Plain TCP has no words for a refusal."""
    return b""


class Denied(Refusal):
    """A policy or a source range said no."""

    def __init__(self, url: str) -> None:
        super().__init__(3205, f"connections from this address to {url} are not allowed", status=403)


@dataclass(slots=True, eq=False)
class Router:
    """Decides who serves a client, and keeps the book of connections.

    - Policies and source ranges are asked first; forwards to internal endpoints are followed, a few at most.
    - One address may hold only so many connections.
    """

    settings: EdgeSettings
    registry: Registry
    metrics: EdgeMetrics
    ip_rules: Callable[[str], Ranges]
    connections: set[ClientConnection] = field(default_factory=set)
    sources: dict[str, int] = field(default_factory=dict)
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.idle.set()

    def candidates(self, key: str, client: Client, hops: int = 0) -> list[Entry]:
        """Agents' endpoints for this client, the one to try first at the front; raises a Refusal if there is none."""
        group = self.registry.find(key)
        if group is None or hops > MAX_HOPS:
            raise offline(key)
        found: list[Entry] = []
        for entry in group.in_turn():
            verdict = entry.policy.judge(client, self.ip_rules)
            if verdict.denied or not entry.ranges.admits(client.ip, self.ip_rules):
                raise Denied(str(entry.url))
            if verdict.forward:
                found += self.candidates(verdict.forward, client, hops + 1)
            elif entry.agent is not None and not entry.opening:
                found.append(entry)
        if not found:
            raise offline(key)
        return found

    def enter(self, connection: ClientConnection, source: str) -> bool:
        """Book a connection; False if its address has too many."""
        count = self.sources.get(source, 0)
        if count >= self.settings.connections_per_source:
            return False
        self.sources[source] = count + 1
        self.connections.add(connection)
        self.idle.clear()
        return True

    def leave(self, connection: ClientConnection, source: str) -> None:
        if connection in self.connections:
            self.connections.discard(connection)
            if not self.connections:
                self.idle.set()
            left = self.sources.get(source, 1) - 1
            if left:
                self.sources[source] = left
            else:
                self.sources.pop(source, None)


class ClientConnection(Splice):
    """One client, joined with one stream to an agent.

    - Within the connection attempt another agent of the pool is tried, as long as that is safe: the agent never
      took the stream, or nothing of the client's was sent yet.
    - A client that vanishes resets the stream, or abandons it if the agent can't take a reset.
    """

    __slots__ = ("_answered", "_client", "_early", "_entry", "_gentle", "_key", "_proto", "_rest", "_router", "_say")

    def __init__(
        self, router: Router, key: str, say: Callable[[Refusal], bytes] = lambda _: b"", sni: str = ""
    ) -> None:
        super().__init__()
        self._router = router
        self._key = key
        self._proto = key.partition(":")[0]
        self._say = say  # what a refused client is told
        self._client = Client("", 0, server_name=sni)
        self._entry: Entry | None = None
        self._rest: list[Entry] = []  # to try if the first agents fail
        self._early: list[Bytes] | None = []  # sent to the agent, kept for another try
        self._answered = False
        self._gentle = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername") or ("0.0.0.0", 0)  # noqa: S104  # a client that is gone already
        here = transport.get_extra_info("sockname") or ("", 0)
        self._client = Client(peer[0], peer[1], here[1], self._client.server_name)
        if self._router.enter(self, self._client.ip):
            self._router.metrics.open_of(self._proto).inc()
            self.begin()
        else:
            self.refuse(Refusal(429, "too many connections from this address", status=429))

    def begin(self) -> None:
        try:
            self._rest = self._router.candidates(self._key, self._client)
        except Refusal as refusal:
            self.refuse(refusal)
        else:
            self.attempt()

    def attempt(self) -> None:
        """Open a stream to the next agent that takes one, and repeat to it what was said so far."""
        while self._rest:
            entry = self._rest.pop(0)
            if entry.agent is None:
                continue
            try:
                stream = entry.agent.open_proxy(entry, self._address, self, self._preface(entry))
            except SessionClosed:
                continue
            if self._entry is None:
                self._router.metrics.counted(self._proto, "served").inc()
            self._hold(entry)
            self._gentle = entry.agent.gentle
            self.stream = stream
            for data in self._early or ():
                stream.write(data)
            if self._eof:
                stream.finish()
            return
        self.refuse(offline(self._key))

    def refuse(self, refusal: Refusal) -> None:
        outcome = "denied" if refusal.status in (403, 429) else "offline"
        self._router.metrics.counted(self._proto, outcome).inc()
        log.debug("connection refused", endpoint=self._key, client=self._client.ip, reason=refusal.message)
        if self.transport is None:
            return
        if words := self._say(refusal):
            self.transport.write(words)
            self.transport.close()
        else:
            self.cut()

    def data_received(self, data: Bytes) -> None:
        self._router.metrics.received += len(data)
        if self._early is not None:
            if self._answered or sum(map(len, self._early)) + len(data) > MAX_EARLY:
                self._early = None
            else:
                self._early.append(data)
        super().data_received(data)

    def received(self, data: Bytes) -> None:
        self._answered = True
        self._router.metrics.sent += len(data)
        super().received(data)

    def ended(self) -> None:
        if not self._answered and self._rest and self._early == [] and not self._eof:
            self._again()  # an agent that could not reach its service ends without a word
        else:
            super().ended()

    def lost(self, code: int) -> None:
        untouched = self._early == [] or (self._early is not None and code in NEVER_REACHED)
        if not self._answered and self._rest and untouched and self.transport is not None:
            self._again()
        else:
            super().lost(code)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._hold(None)
        if self in self._router.connections:
            self._router.metrics.open_of(self._proto).dec()
        self._router.leave(self, self._client.ip)

    def let_go(self, stream: Channel) -> None:
        if self._gentle:
            stream.abandon()
            if stream.open:
                asyncio.get_running_loop().call_later(self._router.settings.abandon_seconds, stream.forget)
        else:
            super().let_go(stream)

    def _again(self) -> None:
        stream, self.stream = self.stream, None
        if stream is not None and stream.open:
            self.let_go(stream)
        self.attempt()

    def _hold(self, entry: Entry | None) -> None:
        if self._entry is not None:
            self._entry.active -= 1
        self._entry = entry
        if entry is not None:
            entry.active += 1

    @property
    def _address(self) -> str:
        return str(proxy_protocol.Address(self._client.ip, self._client.port))

    def _preface(self, entry: Entry) -> bytes:
        """What goes to the service before the client's own bytes."""
        if not entry.proxy_version or self.transport is None:
            return b""
        here = self.transport.get_extra_info("sockname") or (self._client.ip, 0)
        return proxy_protocol.header(
            entry.proxy_version,
            proxy_protocol.Address(self._client.ip, self._client.port),
            proxy_protocol.Address(here[0], here[1]),
        )


class PublicConnection(ClientConnection, asyncio.Protocol):
    """A client on plain TCP."""

    __slots__ = ()


class SecureConnection(ClientConnection, Buffered):
    """A client whose TLS ends here."""

    __slots__ = ()

    def buffer_updated(self, nbytes: int) -> None:
        ClientConnection.data_received(self, bytes(self._shared[:nbytes]))
