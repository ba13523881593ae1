"""Sessions and streams: who may send how much, which half is closed, what a frame means for whom.

The session does no I/O. Its owner feeds it what arrived, and gets back pieces to transmit; the owner of a stream gets
calls (`Handler`). Flow control is the promise that bounds memory: the peer may have at most one window of bytes on
the way per stream, and gets credit only for what the stream's handler says it has passed on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from seamark_edge.wire.muxado import frames
from seamark_edge.wire.muxado.frames import (
    DATA,
    FIN,
    GOAWAY,
    RST,
    SYN,
    WNDINC,
    Bytes,
    Code,
    Frame,
    ProtocolError,
)
from seamark_edge.wire.muxado.stream import DISCARD, UNTYPED, Handler, Limits, Owner, Stream

CHECKED_EVERY = 16  # frames between two looks at the time
LONG = 4096  # bytes of a frame that may take long by itself: it may hold thousands of TLS records


def never() -> bool:
    """Of a caller that takes all frames at once."""
    return False


class SessionClosed(Exception):
    """No stream can be opened: the session ended, or one side has sent GOAWAY."""


class Session:
    """All streams of one connection.

    - `feed` takes what arrived. What it causes is transmitted once, at its end. It stops in between if its caller has
      `enough`, which is asked every few frames; `feed` without bytes goes on then.
    - `overhead` counts the frames that brought no bytes to a stream.
    - A peer that breaks the protocol gets a GOAWAY, and `feed` raises `ProtocolError`; the owner closes then.
    - `pause` and `resume` report whether the connection accepts more; while paused, writers wait.
    - `lost` tells every stream, once.
    - A handler that raises ends its own stream only.
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
        self._frames = 0  # received
        self.overhead = 0  # of them, those that brought nothing

    def open(self, kind: int, handler: Handler, first: Bytes = b"") -> Stream:
        """Open a stream of this type, with its first bytes (at most a window) in the opening frame."""
        if self.closed or self.remote_gone or self._leaving:
            raise SessionClosed("the session takes no new streams")
        if self.exhausted:
            raise SessionClosed("the session has used up its stream ids")
        self._last_local += 2
        stream = self.streams[self._last_local] = Stream(self, self._last_local, handler)
        body = kind.to_bytes(4, "big") + bytes(first)
        stream.send(body, SYN)
        return stream

    @property
    def exhausted(self) -> bool:
        """No stream id is left on this side, after a billion streams: it takes a new session to go on."""
        return self._last_local + 2 > frames.MAX_STREAM

    def feed(self, data: Bytes, enough: Callable[[], bool] = never) -> bool:
        """Whether all of it is handled; if not, the rest is kept for the next call."""
        if self.closed:
            return True
        self._feeding = True
        try:
            for frame in self._reader.feed(data):
                try:
                    self._frame(frame)
                except ProtocolError:
                    raise
                except Exception as error:
                    self._failed(self.streams.get(frame.stream), error)
                if self.closed:
                    break
                if (not self._frames % CHECKED_EVERY or len(frame.body) >= LONG) and enough():
                    self._reader.stop()
        except ProtocolError as error:
            self.leave(error.code, str(error).encode())
            raise
        finally:
            self._feeding = False
            self.flush()
        return self.closed or not self._reader.stopped

    def leave(self, code: int = Code.NO_ERROR, debug: bytes = b"") -> None:
        """Announces that no further streams are accepted; open ones go on."""
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
                self._isolated(stream, stream.proceed)

    def lost(self, code: int = Code.SESSION_CLOSED) -> None:
        if self.closed:
            return
        self.closed = True
        streams, self.streams = self.streams, {}
        self._waiting.clear()
        self._pieces.clear()
        for stream in streams.values():
            self._isolated(stream, partial(stream.lost, code))

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
        """Continues this stream when the connection accepts more; its window is extended by the peer."""
        if self.congested:
            self._waiting[stream.id] = stream

    def forget(self, stream: Stream) -> None:
        if self.streams.pop(stream.id, None) is not None and stream.id & 1 != self._parity:
            self._inbound -= 1
        self._waiting.pop(stream.id, None)

    def _frame(self, frame: Frame) -> None:
        kind, flags, stream_id, body = frame
        self._frames += 1
        if self.limits.frames:
            self._unproven(frame)
        if not body or kind != DATA:
            self.overhead += 1
        if kind == DATA:
            stream = self._accept(stream_id) if flags & SYN else self.streams.get(stream_id)
            if stream is not None:
                stream.on_data(body, bool(flags & FIN))
            elif not self._ever_opened(stream_id):
                raise ProtocolError(Code.PROTOCOL, f"data on stream {stream_id}, which was never opened")
        elif kind == WNDINC:
            increment = frames.u32(body) & frames.MAX_STREAM
            if not increment:
                raise ProtocolError(Code.PROTOCOL, f"window increment of zero on stream {stream_id}")
            if (stream := self.streams.get(stream_id)) is not None:
                stream.on_window(increment)
        elif kind == RST:
            if (stream := self.streams.get(stream_id)) is not None:
                stream.lost(frames.u32(body))
        elif kind == GOAWAY:
            self._goaway(frames.u32(body), frames.u32(body, 4), bytes(body[8:]))

    def _unproven(self, frame: Frame) -> None:
        """An unauthenticated peer may send few frames, and none that an honest one does not send."""
        if self._frames > self.limits.frames:
            raise ProtocolError(Code.ENHANCE_YOUR_CALM, f"more than {self.limits.frames} frames before authentication")
        if frame.type > GOAWAY:
            raise ProtocolError(Code.PROTOCOL, f"frame of the unknown type {frame.type} before authentication")
        if frame.type in (RST, WNDINC) and not self._ever_opened(frame.stream):
            raise ProtocolError(Code.PROTOCOL, f"frame of type {frame.type} on stream {frame.stream}, never opened")

    def _ever_opened(self, stream_id: int) -> bool:
        return stream_id <= (self._last_local if stream_id & 1 == self._parity else self._last_remote)

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
        if self.remote_gone:
            return  # sent before: each would cost a look at every stream, and a line in the log
        self.remote_gone = True
        for stream_id, stream in list(self.streams.items()):
            if stream_id & 1 == self._parity and stream_id > last:
                self._isolated(stream, partial(stream.lost, Code.REMOTE_GONE_AWAY))
        self.owner.going_away(code, debug)

    def _isolated(self, stream: Stream, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            self._failed(stream, error)

    def _failed(self, stream: Stream | None, error: Exception) -> None:
        self.owner.failed(error)
        if stream is None or not stream.open:
            return
        stream.reset(Code.INTERNAL)
        handler, stream.handler = stream.handler, DISCARD
        try:
            handler.lost(Code.INTERNAL)
        except Exception as failure:
            self.owner.failed(failure)
