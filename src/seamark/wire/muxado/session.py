"""Sessions and streams: who may send how much, which half is closed, what a frame means for whom.

The session does no I/O. Its owner feeds it what arrived, and gets back pieces to transmit; the owner of a stream gets
calls (`Handler`). Flow control is the promise that bounds memory: the peer may have at most one window of bytes on
the way per stream, and gets credit only for what the stream's handler says it has passed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from seamark.wire.muxado import frames
from seamark.wire.muxado.frames import DATA, FIN, GOAWAY, RST, SYN, WINDOW, WNDINC, Bytes, Code, Frame, ProtocolError

HEARTBEAT = 0xFFFFFFFF
MAX_WINDOW = 1 << 30
SMALL = 8 * 1024


class SessionClosed(Exception):
    """No stream can be opened: the session ended, or one side said it is going away."""


class Handler(Protocol):
    """The owner of one stream. Calls come in the order of the wire; after `lost` there are none."""

    def received(self, data: Bytes) -> None:
        """Bytes of the peer. Call `stream.credit` once they are passed on."""

    def ended(self) -> None:
        """The peer will send no more; writing goes on."""

    def lost(self, code: int) -> None:
        """The stream is over: reset by the peer, or the session is gone."""

    def writable(self) -> None:
        """After a `write` that returned False: there is room again."""


class Owner(Protocol):
    """The owner of a session: the connection under it."""

    def transmit(self, pieces: list[Bytes]) -> None:
        """Send these bytes, in order."""

    def opened(self, stream: Stream, kind: int) -> Handler:
        """The peer opened a stream of this type."""

    def going_away(self, code: int, debug: bytes) -> None:
        """The peer opens no more streams; those that are open go on."""


@dataclass(frozen=True, slots=True)
class Limits:
    window: int = WINDOW
    inbound: int = 1024  # streams that the peer may have open at once


class Stream:
    """One stream of a session.

    - `write` sends what the peer's window and the connection allow and keeps the rest; False means: no more, until
      the handler's `writable`.
    - Received bytes are the handler's; the peer gets room for more only by `credit`.
    - `finish` closes our half after all that was written; the stream is forgotten once both halves are closed.
    - `abandon` is for a reader that vanished: our half is closed, what still comes is dropped and never credited, so
      the peer can send at most the rest of its window.
    """

    __slots__ = ("_backlog", "_fin", "_head", "_in", "_out", "_over", "_owed", "_session", "handler", "id")

    def __init__(self, session: Session, stream_id: int, handler: Handler) -> None:
        self._session = session
        self.id = stream_id
        self.handler = handler
        self._out = session.limits.window  # bytes that the peer has room for
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
        room = self._out
        if len(data) <= room:
            if data:
                self._send(data)
            return True
        view = memoryview(data)
        if room:
            self._send(view[:room])
        self._backlog.append(view[room:])
        return False

    def finish(self) -> None:
        if not self._fin and self._over != 2:
            self._fin = 1
            self._flush()

    def credit(self, count: int) -> None:
        """The handler passed on `count` bytes. Told to the peer a quarter of a window at a time."""
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

    @property
    def open(self) -> bool:
        return self._over != 2

    def _send(self, data: Bytes, flags: int = 0) -> None:
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
                self._send(data)
            else:
                view, room = memoryview(data), self._out
                backlog[0] = view[room:]
                self._send(view[:room])
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
        """The connection or the window has room again."""
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
            raise ProtocolError(Code.FLOW_CONTROL, f"peer sent more on stream {self.id} than it was given room for")
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


class _Nobody:
    """Takes everything, keeps nothing, credits nothing."""

    def received(self, data: Bytes) -> None:
        pass

    def ended(self) -> None:
        pass

    def lost(self, code: int) -> None:
        pass

    def writable(self) -> None:
        pass


DISCARD: Handler = _Nobody()
UNTYPED: Handler = _Nobody()


class Echo:
    """The answering side of heartbeats: every byte comes back, and a peer that does not read gets no more credit."""

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


class Session:
    """All streams of one connection.

    - `feed` takes what arrived. What it causes is transmitted once, at its end.
    - A peer that breaks the protocol gets a GOAWAY, and `feed` raises `ProtocolError`; the owner closes then.
    - `pause` and `resume` say whether the connection takes more; while paused, writers are told to wait.
    - `lost` tells every stream, once.
    """

    def __init__(self, owner: Owner, *, client: bool, limits: Limits | None = None) -> None:
        self.owner = owner
        self.limits = limits or Limits()
        self.streams: dict[int, Stream] = {}
        self.congested = False
        self.closed = False
        self.remote_gone = False
        self._reader = frames.FrameReader()
        self._parity = 1 if client else 0
        self._last_local = -1 if client else 0
        self._last_remote = 0
        self._inbound = 0
        self._waiting: dict[int, Stream] = {}
        self._pieces: list[Bytes] = []
        self._feeding = False
        self._leaving = False

    def open(self, kind: int, handler: Handler, first: Bytes = b"") -> Stream:
        """Open a stream of this type, with its first bytes (at most a window) in the opening frame."""
        if self.closed or self.remote_gone or self._leaving:
            raise SessionClosed("the session takes no new streams")
        if self._last_local + 2 > frames.MAX_STREAM:
            raise SessionClosed("the session has used up its stream ids")
        self._last_local += 2
        stream = self.streams[self._last_local] = Stream(self, self._last_local, handler)
        body = kind.to_bytes(4, "big") + bytes(first)
        stream._send(body, SYN)
        return stream

    def feed(self, data: Bytes) -> None:
        if self.closed:
            return
        self._feeding = True
        try:
            for frame in self._reader.feed(data):
                self._frame(frame)
                if self.closed:
                    break
        except ProtocolError as error:
            self.leave(error.code, str(error).encode())
            raise
        finally:
            self._feeding = False
            self.flush()

    def leave(self, code: int = Code.NO_ERROR, debug: bytes = b"") -> None:
        """Say that no further streams are taken; those that are open go on."""
        if not self._leaving:
            self._leaving = True
            self.emit(frames.goaway_frame(self._last_remote, code, debug))

    def pause(self) -> None:
        self.congested = True

    def resume(self) -> None:
        self.congested = False
        while self._waiting and not self.congested and not self.closed:
            stream = self._waiting.pop(next(iter(self._waiting)))
            if stream.open:
                stream.proceed()

    def lost(self, code: int = Code.SESSION_CLOSED) -> None:
        if self.closed:
            return
        self.closed = True
        streams, self.streams = self.streams, {}
        self._waiting.clear()
        self._pieces.clear()
        for stream in streams.values():
            handler, stream.handler = stream.handler, DISCARD
            stream._over = 2
            handler.lost(code)

    def emit(self, *pieces: Bytes) -> None:
        if self.closed:
            return
        self._pieces.extend(pieces)
        if not self._feeding:
            self.flush()

    def flush(self) -> None:
        if self._pieces and not self.closed:
            pieces, self._pieces = self._pieces, []
            self.owner.transmit(pieces)

    def wait(self, stream: Stream) -> None:
        """Come back to this stream when the connection has room; for room in its window, the peer will say so."""
        if self.congested:
            self._waiting[stream.id] = stream

    def forget(self, stream: Stream) -> None:
        if self.streams.pop(stream.id, None) is not None and stream.id & 1 != self._parity:
            self._inbound -= 1
        self._waiting.pop(stream.id, None)

    def _frame(self, frame: Frame) -> None:
        kind, flags, stream_id, body = frame
        if kind == DATA:
            stream = self._accept(stream_id) if flags & SYN else self.streams.get(stream_id)
            if stream is not None:
                stream.on_data(body, bool(flags & FIN))
            elif stream_id > (self._last_local if stream_id & 1 == self._parity else self._last_remote):
                raise ProtocolError(Code.PROTOCOL, f"data on stream {stream_id}, which was never opened")
        elif kind == WNDINC:
            increment = frames.u32(body) & frames.MAX_STREAM
            if not increment:
                raise ProtocolError(Code.PROTOCOL, f"window increment of zero on stream {stream_id}")
            if (stream := self.streams.get(stream_id)) is not None:
                stream.on_window(increment)
        elif kind == RST:
            if (stream := self.streams.get(stream_id)) is not None:
                stream.forget()
                handler, stream.handler = stream.handler, DISCARD
                handler.lost(frames.u32(body))
        elif kind == GOAWAY:
            self._goaway(frames.u32(body), frames.u32(body, 4), bytes(body[8:]))

    def _accept(self, stream_id: int) -> Stream | None:
        if stream_id & 1 == self._parity:
            raise ProtocolError(Code.PROTOCOL, f"peer opened stream {stream_id}, an id of this side")
        if stream_id in self.streams:
            raise ProtocolError(Code.PROTOCOL, f"peer opened stream {stream_id} twice")
        self._last_remote = max(self._last_remote, stream_id)
        if self._leaving:
            self.emit(frames.rst_frame(stream_id, Code.STREAM_REFUSED))
            return None
        if self._inbound >= self.limits.inbound:
            raise ProtocolError(Code.ENHANCE_YOUR_CALM, f"more than {self.limits.inbound} streams opened at once")
        self._inbound += 1
        stream = self.streams[stream_id] = Stream(self, stream_id, UNTYPED)
        return stream

    def _goaway(self, last: int, code: int, debug: bytes) -> None:
        self.remote_gone = True
        for stream_id, stream in list(self.streams.items()):
            if stream_id & 1 == self._parity and stream_id > last:
                stream.forget()
                handler, stream.handler = stream.handler, DISCARD
                handler.lost(Code.REMOTE_GONE_AWAY)
        self.owner.going_away(code, debug)
