"""One stream: what may be sent, what was received, which half is closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from seamark_edge.wire.muxado import frames
from seamark_edge.wire.muxado.frames import FIN, WINDOW, Bytes, Code, ProtocolError

HEARTBEAT = 0xFFFFFFFF
MAX_WINDOW = 1 << 30
SMALL = 8 * 1024


class Handler(Protocol):
    """The owner of one stream. Calls come in the order of the wire; after `lost` there are none."""

    def received(self, data: Bytes) -> None:
        """Bytes of the peer. Call `stream.credit` once they are passed on."""

    def ended(self) -> None:
        """The peer has half-closed; writing goes on."""

    def lost(self, code: int) -> None:
        """The stream is over: reset by the peer, or the session is gone."""

    def writable(self) -> None:
        """After a `write` that returned False: writing may go on."""


class Owner(Protocol):
    """The owner of a session: the connection under it."""

    def transmit(self, pieces: list[Bytes]) -> None:
        """Send these bytes, in order."""

    def opened(self, stream: Stream, kind: int) -> Handler:
        """The peer opened a stream of this type."""

    def going_away(self, code: int, debug: bytes) -> None:
        """The peer opens no further streams; open ones go on."""

    def failed(self, error: Exception) -> None:
        """The handler of a stream raised. Its stream is reset; the session and the other streams go on."""


@dataclass(frozen=True, slots=True)
class Limits:
    window: int = WINDOW
    inbound: int = 1024  # streams that the peer may have open at once
    frames: int = 0  # of an unauthenticated peer: so many, all of known types and streams; 0: no limit


class Multiplexer(Protocol):
    """The session of a stream, as far as the stream knows it."""

    limits: Limits
    owner: Owner
    congested: bool

    def emit(self, *pieces: Bytes) -> None:
        """Sends these bytes, in order."""

    def wait(self, stream: Stream) -> None:
        """Continues this stream when the connection accepts more."""

    def forget(self, stream: Stream) -> None:
        """Both halves of this stream are closed."""


class Stream:
    """One stream of a session.

    - `write` sends what the peer's window and the connection allow and keeps the rest; False: wait for the handler's
      `writable`.
    - Received bytes belong to the handler; the window of the peer is extended only by `credit`.
    - `finish` closes our half after all that was written; the stream is forgotten once both halves are closed.
    - `abandon` is for a reader that vanished: our half is closed, what still comes is dropped and never credited, so
      the peer can send at most the rest of its window.
    """

    __slots__ = ("_backlog", "_fin", "_head", "_in", "_out", "_over", "_owed", "_session", "handler", "id")

    def __init__(self, session: Multiplexer, stream_id: int, handler: Handler) -> None:
        self._session = session
        self.id = stream_id
        self.handler = handler
        self._out = session.limits.window  # bytes that the peer accepts
        self._in = session.limits.window  # bytes that the peer may still send
        self._owed = 0  # passed on, not yet credited
        self._backlog: list[Bytes] = []
        self._fin = 0  # 1: asked for, 2: sent
        self._over = 0  # 1: the peer's half is closed, 2: forgotten
        self._head = b""  # of a stream that the peer opened: its type, until complete

    def write(self, data: Bytes) -> bool:
        if self._fin or self._over == 2:
            return True  # the reader is gone; there is nothing to wait for
        if self._backlog or self._session.congested:
            self._backlog.append(data)
            self._session.wait(self)
            return False
        credit = self._out
        if len(data) <= credit:
            if data:
                self.send(data)
            return True
        view = memoryview(data)
        if credit:
            self.send(view[:credit])
        self._backlog.append(view[credit:])
        return False

    def finish(self) -> None:
        if not self._fin and self._over != 2:
            self._fin = 1
            self._flush()

    def credit(self, count: int) -> None:
        """The handler has passed on `count` bytes. The window is extended by a quarter at a time."""
        self._owed += count
        if self._owed * 4 >= self._session.limits.window and not self._over:
            self._in += self._owed
            self._session.emit(frames.wndinc_frame(self.id, self._owed))
            self._owed = 0

    def reset(self, code: int) -> None:
        if self._over != 2:
            self._session.emit(frames.rst_frame(self.id, code))
            self.forget()

    def abandon(self) -> None:
        self._backlog.clear()
        self.handler = DISCARD
        self.finish()

    def forget(self) -> None:
        """Drop the stream on this side; whatever the peer still sends on it is ignored."""
        self._over = 2
        self._backlog.clear()
        self._session.forget(self)

    def lost(self, code: int) -> None:
        """The peer reset it, or the session is gone."""
        self.forget()
        handler, self.handler = self.handler, DISCARD
        handler.lost(code)

    @property
    def open(self) -> bool:
        return self._over != 2

    def send(self, data: Bytes, flags: int = 0) -> None:
        self._out -= len(data)
        head = frames.data_header(self.id, len(data), flags)
        if len(data) <= SMALL:
            self._session.emit(head + data)  # one TLS record instead of two
        else:
            self._session.emit(head, data)

    def _flush(self) -> bool:
        """Send from the backlog; True once it is empty."""
        backlog = self._backlog
        while backlog and self._out and not self._session.congested:
            data = backlog[0]
            if len(data) <= self._out:
                del backlog[0]
                self.send(data)
            else:
                view, credit = memoryview(data), self._out
                backlog[0] = view[credit:]
                self.send(view[:credit])
        if backlog:
            self._session.wait(self)
            return False
        if self._fin == 1:
            self._fin = 2
            self._session.emit(frames.data_header(self.id, 0, FIN))
            if self._over:
                self.forget()
        return True

    def proceed(self) -> None:
        """The connection or the window accepts more again."""
        if self._flush() and not self._fin and self._over != 2:
            self.handler.writable()

    def on_window(self, increment: int) -> None:
        self._out += increment
        if self._out > MAX_WINDOW:
            raise ProtocolError(Code.FLOW_CONTROL, f"window of stream {self.id} grown past {MAX_WINDOW} bytes")
        if self._backlog:
            self.proceed()

    def on_data(self, data: Bytes, fin: bool) -> None:
        if self._over:
            return  # past the end that the peer itself set
        self._in -= len(data)
        if self._in < 0:
            raise ProtocolError(Code.FLOW_CONTROL, f"peer sent more on stream {self.id} than its window allows")
        if self.handler is UNTYPED:
            data = self._typed(data)
        if data:
            self.handler.received(data)
        if fin and self.open:
            self._over = 1
            if self.handler is UNTYPED:
                self.forget()
                return
            self.handler.ended()
            if self._fin == 2 and self.open:
                self.forget()

    def _typed(self, data: Bytes) -> Bytes:
        need = 4 - len(self._head)
        self._head += bytes(data[:need])
        if len(self._head) < 4:
            return b""
        self.credit(4)
        kind = int.from_bytes(self._head, "big")
        self._head = b""
        self.handler = Echo(self) if kind == HEARTBEAT else self._session.owner.opened(self, kind)
        return data[need:]


class _Discard:
    """Takes everything, keeps nothing, credits nothing."""

    def received(self, data: Bytes) -> None:
        pass

    def ended(self) -> None:
        pass

    def lost(self, code: int) -> None:
        pass

    def writable(self) -> None:
        pass


DISCARD: Handler = _Discard()
UNTYPED: Handler = _Discard()


class Echo:
    """The answering side of heartbeats: every byte comes back, and a peer that does not read gets no further credit."""

    __slots__ = ("_stream", "_unsent")

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._unsent = 0

    def received(self, data: Bytes) -> None:
        if self._stream.write(bytes(data)):
            self._stream.credit(len(data))
        else:
            self._unsent += len(data)

    def ended(self) -> None:
        self._stream.finish()

    def lost(self, code: int) -> None:
        pass

    def writable(self) -> None:
        self._stream.credit(self._unsent)
        self._unsent = 0
