"""Joins a connection and a muxado stream, both ways, at the pace of the slower side.

The connection's transport is passed in by the loop; this file opens nothing and waits for nothing. It is a protocol
because a StreamReader costs three times the CPU on a data path. It is no `Joined`: a stream has no transport, and its
pace is credit, which its peer gives by the byte.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Protocol, cast

from seamark_edge.wire.muxado import Code
from seamark_edge.wire.muxado.frames import Bytes
from seamark_runtime.joined import reset

SMALL_READ, LARGE_READ = 256, 256 * 1024  # bytes of one read from a TLS connection
SLOW_READ = 0.0008  # seconds


class Channel(Protocol):
    """What a splice needs of a stream; see `muxado.Stream` for the promises."""

    def write(self, data: Bytes) -> bool: ...

    def finish(self) -> None: ...

    def credit(self, count: int) -> None: ...

    def reset(self, code: int) -> None: ...

    def abandon(self) -> None: ...

    def forget(self) -> None: ...

    @property
    def open(self) -> bool: ...


class Splice(asyncio.BaseProtocol):
    """One end of each: what the connection sends goes into the stream, what the stream brings goes to the connection.

    - Backpressure both ways: a full window pauses the connection's reading; a connection that does not drain gets no
      more than a window, because only what it took is credited.
    - A half-close travels as a half-close.
    - To be combined with `asyncio.Protocol`, or with `Buffered` where the connection is TLS.
    - A connection that is lost ends the stream by `let_go`; a stream that is lost aborts the connection, so that a
      cut-off body never looks complete.
    """

    __slots__ = ("_eof", "_full", "_held", "_over", "_owed", "_stopped", "stream", "transport")

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.stream: Channel | None = None
        self._held: list[Bytes] = []  # of the stream, while there is no connection yet
        self._owed = 0  # given to the connection, not yet drained
        self._full = False  # the connection does not drain
        self._stopped = False  # the stream is full: the connection is not read
        self._eof = False  # the connection's sending half is closed
        self._over = False  # the stream's sending half is closed

    def let_go(self, stream: Channel) -> None:
        """The connection is gone while the stream is open."""
        stream.reset(Code.STREAM_CANCELLED)

    # The connection's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        held, self._held = self._held, []
        for data in held:
            self.received(data)
        if self._over:
            self.ended()

    def data_received(self, data: Bytes) -> None:
        if self.stream is not None and not self.stream.write(data):
            self.pause_reading()

    def eof_received(self) -> bool:
        self._eof = True
        if self.stream is not None:
            self.stream.finish()
        # Closing is ours to do, once the stream has ended too. (TLS has no half-close and ends here by itself.)
        return not self._over and not self.secure

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        if self.stream is not None and self._owed:
            owed, self._owed = self._owed, 0
            self.stream.credit(owed)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        stream, self.stream = self.stream, None
        if stream is not None and stream.open:
            self.let_go(stream)

    # The stream's side

    def received(self, data: Bytes) -> None:
        transport = self.transport
        if transport is None:
            self._held.append(data)
            return
        transport.write(data)
        if self._full:
            self._owed += len(data)
        elif self.stream is not None:
            self.stream.credit(len(data))

    def ended(self) -> None:
        self._over = True
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        if self._eof or self.secure:
            transport.close()
        else:
            transport.write_eof()

    def lost(self, code: int) -> None:
        self.stream = None
        self.cut()

    def writable(self) -> None:
        self._stopped = False
        self.resume_reading()

    # Both

    def cut(self) -> None:
        """End the connection with a reset, so that the peer can't take what it got for all there was."""
        reset(self.transport)

    @property
    def secure(self) -> bool:
        return self.transport is not None and not self.transport.can_write_eof()

    def pause_reading(self) -> None:
        self._stopped = True
        if self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        if self.transport is not None and not self.transport.is_closing() and not self._stopped:
            self.transport.resume_reading()


class _OfThread(threading.local):
    """A loop runs in one thread, and OpenSSL reads without the interpreter's lock: a buffer for each thread."""

    def __init__(self) -> None:
        self.buffer = memoryview(bytearray(LARGE_READ))


_OF_THREAD = _OfThread()


class Buffered(asyncio.BufferedProtocol):
    """Reading into one buffer that all connections of the loop share.

    uvloop reads TLS into a fresh 256 KB for every record of 16 KB otherwise: that is more than half of the CPU that
    a tunnel takes. Whatever is read is passed on, copied, before the next read, so one buffer is enough.

    A peer may send records of one byte, and uvloop decrypts as many as the buffer takes: 0.5 s of work. So a connection
    begins with a small part of the buffer, which grows while it is filled quickly, and shrinks when that took long.
    """

    _most = SMALL_READ  # bytes of one read
    read_since: float | None = None  # when the read began whose bytes are passed on now

    @property
    def _shared(self) -> memoryview:
        return _OF_THREAD.buffer

    def get_buffer(self, sizehint: int) -> memoryview:
        self.read_since = time.perf_counter()
        return _OF_THREAD.buffer[: self._most]

    def buffer_updated(self, nbytes: int) -> None:
        self.measure(nbytes)
        self.data_received(self._shared[:nbytes])
        self.read_since = None

    def measure(self, nbytes: int) -> None:
        """Adapt the size of the next read to what this one took."""
        if self.read_since is not None and time.perf_counter() - self.read_since > SLOW_READ:
            self._most = max(SMALL_READ, self._most // 4)
        elif nbytes == self._most:
            self._most = min(LARGE_READ, self._most * 4)

    def data_received(self, data: Bytes) -> None:
        raise NotImplementedError
