"""The connection of one agent: TLS bytes in and out of a muxado session, its requests answered."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
import structlog

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.failures import Failures
from seamark_edge.edge.fairshare import FairShare
from seamark_edge.edge.ids import new_id
from seamark_edge.edge.limits import Slot
from seamark_edge.edge.registry import Entry
from seamark_edge.edge.rpc import RpcCall
from seamark_edge.model import UNUSABLE, share_of
from seamark_edge.wire import tunnel
from seamark_edge.wire.muxado import WINDOW, Code, Handler, Limits, ProtocolError, Stream
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.muxado.stream import DISCARD
from seamark_edge.wire.peerconnection import MAX_WINDOW, PeerConnection
from seamark_edge.wire.question import Question
from seamark_edge.wire.tunnel import StreamType
from seamark_runtime.pacing import InputAccount

log = structlog.get_logger(__name__)

BEFORE_AUTH = Limits(inbound=16, frames=256)
AFTER_AUTH = Limits(inbound=512)
SLACK_SECONDS = 15.0
LEAST_SILENCE, MOST_SILENCE = 25.0, 600.0  # seconds between two heartbeats, whatever the agent announces
EDGE_TYPES = {"tcp": "1", "tls": "2", "https": "3", "http": "3"}
MAX_REPORT = 16 * 1024  # bytes of an agent's answer to a check
MOST_REFUSED = 256  # of one agent, remembered
MOST_ATTEMPTS = 16  # requests of a session before it is authenticated
OVERHEAD = 20e-6  # seconds that a frame without bytes is charged beyond its cost: an honest agent sends few of them
TAKES_RESETS = ("ngrok-go", "seamark-agent")


@dataclass(frozen=True, slots=True)
class Refused:
    """An endpoint that an agent requested and did not get, with the error it received."""

    name: str
    url: str
    generation: int
    code: str
    message: str


class Desk(Protocol):
    """Answers agents. Every method may raise a Refusal, whose message goes back to the agent."""

    head_seconds: float
    failures: Failures
    unproven_input: InputAccount  # of all agents that are not authenticated
    share: FairShare

    def input_of(self, credential: str) -> InputAccount:
        """Of all agents with this token."""

    def arrived(self, agent: AgentConnection) -> None: ...

    def left(self, agent: AgentConnection) -> object: ...

    async def auth(self, agent: AgentConnection, message: tunnel.Auth) -> tunnel.AuthAnswer: ...

    async def bind(self, agent: AgentConnection, message: tunnel.Bind) -> tunnel.BindAnswer: ...

    async def bind_labels(
        self, agent: AgentConnection, message: tunnel.StartWithLabels
    ) -> tunnel.StartWithLabelsAnswer: ...

    async def unbind(self, agent: AgentConnection, message: tunnel.Unbind) -> tunnel.Outcome: ...

    def info(self) -> tunnel.ServerInfo: ...

    def report(self, agent: AgentConnection, message: tunnel.UpstreamReport) -> tunnel.Outcome: ...

    def count(self, kind: str, outcome: str) -> None: ...


class AgentConnection(PeerConnection):
    """One agent's session.

    - Nothing but authentication and heartbeats is answered before the token was accepted, within a deadline.
    - A peer that breaks the protocol, or sends nothing for longer than its own heartbeat allows, is closed; its
      endpoints go offline with it.
    - Its input takes a share of the loop's time: that of all unauthenticated agents together, then that of its token.
    """

    LOST = Code.SESSION_CLOSED

    def __init__(self, desk: Desk, slot: Slot | None = None) -> None:
        super().__init__(client=False, limits=BEFORE_AUTH, account=desk.unproven_input)
        self._desk = desk
        self._slot = slot
        self.id = new_id("ts")
        self.client_id = ""
        self.credential = ""
        self.gentle = True
        self.reports = False
        self.auth = tunnel.AuthExtra()
        self.peer = ""
        self.window = 0  # as agreed with agents that ask for one
        self.started = time.time()
        self.seen = time.monotonic()
        self.tasks: set[asyncio.Task[None]] = set()
        self.refused: dict[str, Refused] = {}  # endpoints that were refused, by name or URL
        self._attempts = 0
        self.pending = 0  # bytes of requests that are not complete
        self._socket: socket.socket | None = None
        self._deadline: asyncio.TimerHandle | None = None

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername") or ("", 0)
        self.peer = peer[0]
        self._socket = transport.get_extra_info("socket")
        if self._slot is not None:
            self._slot.close = self.abort
        self._quick()
        self._deadline = asyncio.get_running_loop().call_later(self._desk.head_seconds, self._too_late)
        self._desk.arrived(self)

    def data_received(self, data: Bytes) -> None:
        self.seen = time.monotonic()
        self._quick()
        super().data_received(data)

    def _handle(self, data: Bytes, enough: Callable[[], bool]) -> bool:
        before = self._session.overhead
        try:
            return super()._handle(data, enough)
        finally:
            self._input.penalty = (self._session.overhead - before) * OVERHEAD

    def broke(self, error: ProtocolError) -> None:
        """An unauthenticated peer gets no GOAWAY, and writes nothing into the log."""
        if self.credential:
            log.warning("agent broke the protocol", session=self.id, peer=self.peer, error=str(error))
            self.close()
        else:
            log.debug("peer without a token broke the protocol", peer=self.peer, error=str(error))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._socket = None
        if self._slot is not None:
            self._slot.release()
        super().connection_lost(exc)
        for task in list(self.tasks):
            task.cancel()
        self._desk.left(self)

    # muxado's Owner

    def opened(self, stream: Stream, kind: int) -> Handler:
        return RpcCall(self, stream, kind)

    def going_away(self, code: int, debug: bytes) -> None:
        note = log.info if self.credential else log.debug
        note("agent goes away", session=self.id, code=code)

    def failed(self, error: Exception) -> None:
        self._desk.failures.report("stream", error)

    # registry's Agent

    def open_proxy(self, entry: Entry, client: str, handler: Handler, first: bytes) -> Stream:
        header = tunnel.ProxyHeader(
            id=entry.bind_id,
            client_addr=client,
            proto=entry.url.scheme,
            edge_type=EDGE_TYPES[entry.url.scheme],
            passthrough_tls=entry.url.scheme == "tls" and not entry.terminate,
        )
        if self._session.exhausted:
            log.info("session has used up its stream ids, the agent is to connect again", session=self.id)
            self.close()
        return self._session.open(StreamType.PROXY, handler, tunnel.proxy_preface(header) + first)

    async def check(self, entry: Entry) -> tunnel.UpstreamReport:
        question = Question(tunnel.UpstreamReport, limit=MAX_REPORT)
        body = tunnel.encode(tunnel.CheckUpstream(id=entry.bind_id))
        question.stream = self._session.open(StreamType.CHECK, question, body)
        try:
            return await question.answer
        finally:
            if question.stream.open:
                question.stream.finish() if question.answer.done() else question.stream.reset(Code.STREAM_CANCELLED)

    # For the desk

    def accept(self, message: tunnel.Auth, client_id: str, credential: str) -> None:
        self.auth, self.client_id, self.credential = _shortened(message.extra), client_id, credential
        self.gentle = message.extra.client_type not in TAKES_RESETS
        self.reports = message.extra.reports is True and not self.gentle  # a check that is given up is reset
        window = message.extra.window
        self.window = min(max(window, WINDOW), MAX_WINDOW) if window else 0
        self._session.limits = Limits(inbound=AFTER_AUTH.inbound, window=self.window or WINDOW)
        self._input.account = self._desk.input_of(credential)
        if self._deadline is not None:
            self._deadline.cancel()
        if self._slot is not None:
            self._slot.prove()

    def was_refused(self, message: tunnel.Bind, refusal: Refusal) -> None:
        """Remembers it for API clients that ask why an endpoint is missing.

        Where there are too many, the oldest is forgotten of the namespace that has the most.
        """
        extra, url = message.extra, _url(message)
        self._remember(Refused(extra.name[:512], url, extra.generation or 0, refusal.name, refusal.message[:1024]))

    def unusable(self, message: tunnel.UnusableEndpoint) -> tunnel.Outcome:
        """Remembers why the agent itself can't hold an endpoint, beside what was refused to it."""
        name, url = message.name[:512], message.url[:2048]
        if message.message:
            self._remember(Refused(name, url, message.generation, UNUSABLE, message.message[:1024]))
        elif (known := self.refused.get(name or url)) is not None and known.code == UNUSABLE:
            del self.refused[name or url]
        return tunnel.Outcome()

    def _remember(self, refused: Refused) -> None:
        key = refused.name or refused.url
        self.refused.pop(key, None)
        if len(self.refused) >= MOST_REFUSED:
            most, _ = Counter(share_of(name) for name in self.refused).most_common(1)[0]
            del self.refused[next(name for name in self.refused if share_of(name) == most)]
        self.refused[key] = refused

    def was_bound(self, message: tunnel.Bind) -> None:
        self.refused.pop(message.extra.name[:512] or _url(message), None)

    def command(self, kind: StreamType, message: tunnel.Message | None = None) -> None:
        """Tell the agent to stop, restart, or close a tunnel. Its answer is not waited for."""
        body = tunnel.encode(message) if message is not None else b"{}"
        self._session.open(kind, DISCARD, body).finish()

    def silent(self, now: float) -> bool:
        """Whether the agent has missed its own heartbeats."""
        announced = (self.auth.heartbeat_interval + self.auth.heartbeat_tolerance) / 1e9
        return now - self.seen > min(max(announced, LEAST_SILENCE), MOST_SILENCE) + SLACK_SECONDS

    def leave(self) -> None:
        """Take no new requests; what is open goes on."""
        self._session.leave()

    @property
    def streams(self) -> int:
        return len(self._session.streams)

    async def in_turn(self, work: Coroutine[Any, Any, None]) -> None:
        """Requests are answered in the turn of the token; those without one share one turn."""
        await self._desk.share.paced(f"token {self.credential}", work)

    async def answer(self, kind: int, body: bytes) -> tunnel.Message:
        """The answer to one request; raises a Refusal or a MessageError."""
        if not self.credential:
            self._attempts += 1
            if self._attempts > MOST_ATTEMPTS:
                self.close()
                raise Refusal(429, f"more than {MOST_ATTEMPTS} requests without authentication", status=429)
        if kind == StreamType.AUTH:
            return await self._desk.auth(self, tunnel.decode(body, tunnel.Auth))
        if not self.credential:
            raise Refusal(105, "this session is not authenticated", status=401)
        return await self._authenticated(kind, body)

    async def _authenticated(self, kind: int, body: bytes) -> tunnel.Message:
        desk = self._desk
        match kind:
            case StreamType.BIND:
                return await desk.bind(self, tunnel.decode(body, tunnel.Bind))
            case StreamType.UNBIND:
                return await desk.unbind(self, tunnel.decode(body, tunnel.Unbind))
            case StreamType.START_WITH_LABELS:
                return await desk.bind_labels(self, tunnel.decode(body, tunnel.StartWithLabels))
            case StreamType.REPORT:
                return desk.report(self, tunnel.decode(body, tunnel.UpstreamReport))
            case StreamType.UNUSABLE:
                return self.unusable(tunnel.decode(body, tunnel.UnusableEndpoint))
            case _:
                return desk.info()

    def count(self, kind: int, outcome: str) -> None:
        self._desk.count(StreamType(kind).name.lower(), outcome)

    def _too_late(self) -> None:
        log.debug("agent did not authenticate in time", peer=self.peer)
        self.abort()

    def _quick(self) -> None:
        # Without this, each small message of an agent waits for a delayed acknowledgement: 44 ms instead of 0.4.
        if self._socket is not None:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def _shortened(extra: tunnel.AuthExtra) -> tunnel.AuthExtra:
    """What is kept of an agent for as long as it is connected, and shown by the API; without its token."""
    kept = {name: getattr(extra, name)[:256] for name in ("version", "client_type", "user_agent", "os", "arch")}
    errors = {
        name: message if message is None else message[:256]
        for name in ("stop_unsupported_error", "restart_unsupported_error", "update_unsupported_error")
        for message in (getattr(extra, name),)
    }
    return msgspec.structs.replace(extra, **kept, **errors, go_token="", rust_token="", cookie="")


def _url(message: tunnel.Bind) -> str:
    """What was asked for, as far as it is a text."""
    url = message.opts.get("URL")
    return url[:2048] if isinstance(url, str) else ""
