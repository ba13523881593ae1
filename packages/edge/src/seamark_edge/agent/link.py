"""One connection of an agent to an edge: requests out, proxy streams in, heartbeats."""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from seamark_edge.agent.upstream import Dialled, Upstream, UpstreamConnection
from seamark_edge.wire import tunnel
from seamark_edge.wire.muxado import WINDOW, Code, Handler, Limits, ProtocolError, SessionClosed, Stream
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.peerconnection import MAX_WINDOW, PeerConnection
from seamark_edge.wire.question import Question
from seamark_edge.wire.tunnel import StreamType
from seamark_runtime.errors import Retry
from seamark_runtime.pacing import InputAccount

log = structlog.get_logger(__name__)

A = TypeVar("A", bound=tunnel.Message)
MANY = 65536  # connections at once; each is a file here, too
ANSWER_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What the owner of a connection does for the edge. Binds are named by their ids."""

    find: Callable[[str], Upstream | None]
    commanded: Callable[[StreamType, bytes], None]
    dialled: Dialled
    check: Callable[[str], Awaitable[tunnel.UpstreamReport]]  # dial the upstream of this bind now


class Link(PeerConnection):
    """A session with an edge.

    - `call` sends one request and returns its answer; an `Error` in it is raised as `Refused`, with the edge's message.
    - Proxy streams are joined with the service that `find` names for them; `dialled` gets the result of each dial.
    - `closed` is done when the connection is; until then a heartbeat proves that the edge is there.
    """

    LOST = Code.PEER_EOF

    def __init__(self, callbacks: Callbacks) -> None:
        # An account of its own: input is handled in slices, as the agent has other work, too.
        super().__init__(client=True, limits=Limits(inbound=MANY), account=InputAccount())
        self._callbacks = callbacks
        self._checks: set[asyncio.Task[None]] = set()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def dial(cls, address: tuple[str, int], context: ssl.SSLContext, callbacks: Callbacks) -> Link:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                _, link = await loop.create_connection(
                    lambda: cls(callbacks), *address, ssl=context, server_hostname=address[0]
                )
        except (OSError, TimeoutError) as error:
            raise Retry(f"no connection to the edge at {address[0]}:{address[1]}: {error}") from error
        return link

    def use_window(self, window: int) -> None:
        """From the next stream on. Both sides switch with the answer to the authentication."""
        self._session.limits = Limits(window=min(max(window, WINDOW), MAX_WINDOW), inbound=MANY)

    async def call(
        self,
        kind: StreamType,
        request: tunnel.Message,
        answer: type[A],
        on_answer: Callable[[A], None] = lambda _: None,
    ) -> A:
        """`on_answer` is called when the response arrives, before anything that the edge sent after it is handled."""
        call = Question(answer, on_answer)
        try:
            call.stream = self._session.open(kind, call, tunnel.encode(request))
            async with asyncio.timeout(ANSWER_SECONDS):
                return await call.answer
        except (SessionClosed, TimeoutError, ConnectionError) as error:
            raise Retry(f"the edge did not answer: {error or 'in time'}") from error

    async def heartbeat(self, interval: float, tolerance: float) -> None:
        """Beat until the connection ends; a beat that does not come back in time ends it."""
        pulse = _Pulse()
        stream = self._session.open(StreamType.HEARTBEAT, pulse)
        while not self.closed.done():
            await asyncio.sleep(interval)
            beat = secrets.token_bytes(4)
            stream.write(beat)
            try:
                async with asyncio.timeout(tolerance):
                    await pulse.comes_back(beat)
            except TimeoutError:
                log.warning("the edge missed a heartbeat")
                self.abort()

    def broke(self, error: ProtocolError) -> None:
        log.warning("the edge broke the protocol", error=str(error))
        self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for task in self._checks:
            task.cancel()
        if not self.closed.done():
            self.closed.set_result(None)

    def opened(self, stream: Stream, kind: int) -> Handler:
        if kind == StreamType.PROXY:
            return UpstreamConnection(stream, self._callbacks.find, self._callbacks.dialled)
        return _Command(self, stream, kind)

    def going_away(self, code: int, debug: bytes) -> None:
        log.info("the edge goes away", code=code, debug=debug.decode("utf-8", "replace")[:200])

    def failed(self, error: Exception) -> None:
        log.error("a connection ended with an internal error", exc_info=error)

    def command(self, kind: StreamType, body: bytes) -> None:
        try:
            self._callbacks.commanded(kind, body)
        except tunnel.MessageError as error:
            log.warning("the edge sent a command that can't be read", error=str(error))

    def check(self, stream: Stream, body: bytes) -> None:
        """Answered when the upstream was dialled. The edge asks for one check of a tunnel at a time."""
        task = asyncio.get_running_loop().create_task(self._check(stream, body))
        self._checks.add(task)
        task.add_done_callback(self._checks.discard)

    async def _check(self, stream: Stream, body: bytes) -> None:
        try:
            report = await self._callbacks.check(tunnel.decode(body, tunnel.CheckUpstream).id)
        except tunnel.MessageError as error:
            report = tunnel.UpstreamReport(error=str(error))
        stream.write(tunnel.encode(report))
        stream.finish()


class _Pulse:
    """Our heartbeats coming back."""

    def __init__(self) -> None:
        self._buffer = b""
        self._came = asyncio.Event()

    async def comes_back(self, beat: bytes) -> None:
        while beat not in self._buffer:
            self._came.clear()
            await self._came.wait()
        self._buffer = b""

    def received(self, data: Bytes) -> None:
        self._buffer = (self._buffer + bytes(data))[-64:]
        self._came.set()

    def ended(self) -> None:
        pass

    def lost(self, code: int) -> None:
        pass

    def writable(self) -> None:
        pass


class _Command:
    """A request of the edge: stop, restart, a check and the end of a tunnel are obeyed, others answered with an
    error."""

    def __init__(self, link: Link, stream: Stream, kind: int) -> None:
        self._link = link
        self._stream = stream
        self._kind = kind
        self._reader = tunnel.JsonReader(64 * 1024)

    def received(self, data: Bytes) -> None:
        try:
            body = self._reader.feed(data)
        except tunnel.MessageError:
            self._stream.reset(Code.PROTOCOL)
            return
        if body is None:
            return
        if self._kind == StreamType.CHECK:
            self._link.check(self._stream, body)
            return
        known = self._kind in (StreamType.STOP, StreamType.RESTART, StreamType.STOP_TUNNEL)
        answer = tunnel.Outcome() if known else tunnel.Outcome(error="this agent does not do that")
        self._stream.write(tunnel.encode(answer))
        self._stream.finish()
        if known:
            self._link.command(StreamType(self._kind), body)

    def ended(self) -> None:
        pass

    def lost(self, code: int) -> None:
        pass

    def writable(self) -> None:
        pass
