"""A client's connection, from its first byte to the agent that serves it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import cast

import structlog

from seamark_edge.edge.errors import Refusal, offline
from seamark_edge.edge.fairshare import Turn
from seamark_edge.edge.limits import Slot
from seamark_edge.edge.policy import Client
from seamark_edge.edge.registry import Entry
from seamark_edge.edge.reports import ENDED, HTTP_ERROR, following
from seamark_edge.edge.routing import Router, Search
from seamark_edge.edge.tcpstate import tcp_state
from seamark_edge.wire import proxy_protocol
from seamark_edge.wire.muxado import Code, SessionClosed
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.splice import Buffered, Channel, Splice
from seamark_runtime.pacing import PacedInput

log = structlog.get_logger(__name__)

MAX_EARLY = 64 * 1024
NEVER_REACHED = (Code.STREAM_REFUSED, Code.ACCEPT_QUEUE_FULL, Code.REMOTE_GONE_AWAY)


RefusalResponse = Callable[[Refusal], bytes]


def silence(_: Refusal) -> bytes:
    """Plain TCP has no response for a refusal."""
    return b""


class ClientConnection(Splice):
    """One client, joined with one stream to an agent.

    - Within the connection attempt another agent of the pool is tried, as long as that is safe: the agent never
      took the stream, or nothing of the client's was sent yet.
    - Policies are evaluated in the turn of their owner. What the client sends meanwhile waits.
    - A client that vanishes resets the stream, or abandons it if the agent can't take a reset.
    """

    __slots__ = (
        "_answered",
        "_client",
        "_early",
        "_entry",
        "_gentle",
        "_key",
        "_left_at",
        "_proto",
        "_refusal_response",
        "_rest",
        "_router",
        "_slot",
        "_turn",
    )

    def __init__(
        self,
        router: Router,
        key: str,
        refusal_response: Callable[[Refusal], bytes] = lambda _: b"",
        sni: str = "",
        slot: Slot | None = None,
    ) -> None:
        super().__init__()
        self._slot = slot  # None where it is for this connection to take one
        self._router = router
        self._key = key
        self._proto = key.partition(":")[0]
        self._refusal_response = refusal_response  # the response to a refused client
        self._client = Client("", 0, server_name=sni)
        self._entry: Entry | None = None
        self._rest: list[Entry] = []  # to try if the first agents fail
        self._early: list[Bytes] | None = []  # sent to the agent, kept for another try
        self._answered = False
        self._gentle = False
        self._left_at: float | None = None  # when it was first seen that the client sends nothing more
        self._turn: Turn | None = None  # while its policies wait to be evaluated

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername") or ("0.0.0.0", 0)  # noqa: S104  # a client that is gone already
        here = transport.get_extra_info("sockname") or ("", 0)
        self._client = Client(peer[0], peer[1], here[1], self._client.server_name)
        self._slot = self._slot or self._router.clients.take(self._client.ip)
        if self._slot is not None:
            self._slot.close = self.cut
            self._slot.idle = self.idle
            self._router.enter(self)
            self._router.metrics.open_of(self._proto).inc()
            try:
                self.begin()
            except Refusal as refusal:
                self.refuse(refusal)
            except Exception as error:
                self._router.failures.report("connection", error)
                self.cut()
        else:
            self.refuse(Refusal(429, "too many connections from this address", status=429))

    def begin(self) -> None:
        self.admit(f"token {self._router.holder_of(self._key)}")
        owner = self._router.owner_of(self._key)
        if owner is None:
            self._rest = self._router.candidates(self._key, self._client)
            self.attempt()
        else:
            self.in_turn(owner, self._choose())

    def in_turn(self, owner: str, choose: Iterator[None]) -> None:
        """Choose an endpoint and connect to it in the owner's turn; if too many wait already, a Refusal is raised."""
        self._turn = self._router.share.submit(owner, self._chosen(choose))

    def _chosen(self, choose: Iterator[None]) -> Iterator[None]:
        try:
            yield from choose
        except Refusal as refusal:
            self.refuse(refusal)
        except Exception as error:
            self._router.failures.report("connection", error)
            self.cut()
        waited, self._turn = self._turn is not None, None
        if waited and self.stream is not None:
            self.writable()  # reading goes on

    def _choose(self) -> Iterator[None]:
        search = Search(self._router, self._client)
        yield from search.at(self._key)
        self._rest = search.result(self._key)
        self.attempt()

    def admit(self, holder: str) -> None:
        """It counts for this owner from now on; a Refusal if no slot is free."""
        if self._slot is None or not self._slot.admit(holder):
            raise Refusal(503, "this edge has no connection left for this endpoint", status=503)

    def idle(self) -> float:
        """Seconds without traffic."""
        return tcp_state(self.transport).idle

    def overdue(self, now: float, seconds: float) -> bool:
        """Whether the client sends nothing more, and so many seconds have passed since without traffic.

        Only the kernel knows it of a client whose last bytes are not read, because the agent takes none.
        """
        state = tcp_state(self.transport)
        if not state.left:
            self._left_at = None
            return False
        if self._left_at is None:
            self._left_at = now
        return min(now - self._left_at, state.idle) >= seconds

    def attempt(self) -> None:
        """Opens a stream to the next agent that accepts one, and sends it the bytes received so far."""
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
        outcome = "denied" if refusal.status in (403, 429, 503) else "offline"
        self._router.metrics.counted(self._proto, outcome).inc()
        log.debug("connection refused", endpoint=self._key, client=self._client.ip, reason=refusal.message)
        if self.transport is None:
            return
        if response := self._refusal_response(refusal):
            self.transport.write(response)
            self.transport.close()
        else:
            self.cut()

    def data_received(self, data: Bytes) -> None:
        self._router.metrics.received += len(data)
        if self._turn is not None and self._early is not None:
            self._early.append(data)
            self.pause_reading()
            return
        if self._early is not None:
            if self._answered or sum(map(len, self._early)) + len(data) > MAX_EARLY:
                self._early = None
            else:
                self._early.append(data)
        super().data_received(data)

    def received(self, data: Bytes) -> None:
        if not self._answered:
            self._answered = True
            self._observed(reachable=data[: len(HTTP_ERROR)] != HTTP_ERROR)
        self._router.metrics.sent += len(data)
        super().received(data)

    def ended(self) -> None:
        if not self._answered and not self._eof:
            self._observed(reachable=False)
        if not self._answered and self._rest and self._early == [] and not self._eof:
            self._retry()  # an agent that could not reach its service ends without an answer
        else:
            super().ended()

    def lost(self, code: int) -> None:
        untouched = self._early == [] or (self._early is not None and code in NEVER_REACHED)
        if not self._answered and self._rest and untouched and self.transport is not None:
            self._retry()
        else:
            super().lost(code)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._turn is not None:
            self._turn.cancel()
        self._hold(None)
        if self in self._router.connections:
            self._router.metrics.open_of(self._proto).dec()
        self._router.leave(self)
        if self._slot is not None:
            self._slot.release()

    def let_go(self, stream: Channel) -> None:
        if self._gentle:
            stream.abandon()
            if stream.open:
                asyncio.get_running_loop().call_later(self._router.settings.abandon_seconds, stream.forget)
        else:
            super().let_go(stream)

    def _retry(self) -> None:
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

    def _observed(self, *, reachable: bool) -> None:
        """Of an agent that does not report what it dials, this is all that is known."""
        entry = self._entry
        if entry is not None and entry.agent is not None and not entry.agent.reports:
            entry.report = following(entry.report, reachable, ENDED)

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
    """A client whose TLS ends here. Reading for the clients of one source is cut into slices of the loop's time."""

    __slots__ = ("_input",)

    def __init__(
        self,
        router: Router,
        key: str,
        refusal_response: RefusalResponse = silence,
        sni: str = "",
        slot: Slot | None = None,
    ) -> None:
        super().__init__(router, key, refusal_response, sni, slot)
        self._input: PacedInput | None = None  # set with the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._input = PacedInput(self._router.input_of(self._client.ip), self._handle, self.resume_reading)
        self._input.connected(cast("asyncio.Transport", transport))

    def buffer_updated(self, nbytes: int) -> None:
        self.measure(nbytes)
        if self._input is not None:
            self._input.received(self._shared[:nbytes], self.read_since)

    def eof_received(self) -> bool:
        if self._input is not None:
            self._input.flush()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._input is not None:
            self._input.close()
        super().connection_lost(exc)

    def taken(self, data: bytes) -> None:
        """Plain bytes of the client."""
        ClientConnection.data_received(self, data)

    def _handle(self, data: Bytes, _: Callable[[], bool]) -> bool:
        if data:
            self.taken(bytes(data))
        return True
