"""A Pod's connection and its connection to the edge, joined: bytes both ways at the pace of the slower side."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import cast

from seamark_edge.wire.bindings import ConnResponse, PreambleError, PreambleReader
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.splice import Buffered

HIGH_WATER = 512 * 1024
MOST_EARLY = 256 * 1024
QUIET = 1.0  # seconds without a byte after which a connection is over whose Pod has ended, or half-closed, its side
RESET = struct.pack("ii", 1, 0)  # linger for no time at all


class Half(Buffered):
    """One of the two connections.

    - What comes in here goes out at the other one; a connection that does not drain stops the other's reading.
    - When one is lost, the other is closed after what is under way was sent; a broken one breaks it, so that a
      cut-off answer never looks complete.
    """

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: Half | None = None
        self.gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=HIGH_WATER)

    def data_received(self, data: Bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(bytes(data))  # the buffer is used again at once

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport, self.gone = None, True
        if self.other is not None:
            self.other.other_lost(broken=exc is not None)

    def other_lost(self, *, broken: bool) -> None:
        if self.transport is None or self.transport.is_closing():
            return
        if broken:
            self.cut()
        else:
            self.transport.close()

    def cut(self) -> None:
        """End with a reset: the peer can't take what it got for all there was."""
        if self.transport is None:
            return
        raw = self.transport.get_extra_info("socket")
        if raw is not None and not self.transport.is_closing():
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.transport.abort()


class PodHalf(Half):
    """A Pod's connection. What it says before the edge has taken it is kept, up to a bound.

    - A Pod that has half-closed its connection still gets everything that is sent to it. TLS has no half-close to
      pass on:
      when nothing has come for a second, the whole connection is closed.
    """

    def __init__(self, opened: Callable[[PodHalf], None], closed: Callable[[PodHalf], None]) -> None:
        super().__init__()
        self._opened = opened
        self._closed = closed
        self._early = bytearray()
        self.dialling: asyncio.Task[None] | None = None
        self.taken = 0  # bytes that came for the Pod

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._opened(self)

    def data_received(self, data: Bytes) -> None:
        if self.other is not None:
            super().data_received(data)
            return
        self._early += data
        if self.transport is not None and len(self._early) >= MOST_EARLY:
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        asyncio.get_running_loop().call_later(QUIET, self._quiet, self.taken)
        return True  # what the edge still sends is for this Pod

    def _quiet(self, taken: int) -> None:
        if self.other is None or self.other.transport is None:
            return
        if self.taken == taken:
            self.other.transport.close()
        else:
            asyncio.get_running_loop().call_later(QUIET, self._quiet, self.taken)

    def join(self, edge: EdgeHalf) -> None:
        """The edge has taken the connection: what came early goes out now."""
        if self.transport is None or edge.transport is None:
            edge.other_lost(broken=True)
            self.other_lost(broken=True)
            return
        self.other, edge.other = edge, self
        if self._early:
            edge.transport.write(bytes(self._early))
            self._early.clear()
        if edge.rest:
            self.transport.write(edge.rest)
        edge.transport.resume_reading()
        self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.dialling is not None:
            self.dialling.cancel()
        super().connection_lost(exc)
        self._closed(self)


class EdgeHalf(Half):
    """The connection to the edge. `answer` is what it says of the preamble; what follows is for the Pod."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: asyncio.Future[ConnResponse] = asyncio.get_running_loop().create_future()
        self.rest = b""
        self._reader: PreambleReader | None = PreambleReader()

    def data_received(self, data: Bytes) -> None:
        if self._reader is None:
            if isinstance(self.other, PodHalf):
                self.other.taken += len(data)
                super().data_received(data)
            else:
                self.rest += bytes(data)
            return
        try:
            body = self._reader.feed(bytes(data))
            if body is None:
                return
            answer = ConnResponse.decode(body)
        except PreambleError as error:
            answer = ConnResponse(error_code="preamble", error_message=str(error))
        self.rest, self._reader = self._reader.rest, None
        if self.transport is not None:
            self.transport.pause_reading()  # until the other half is connected
        if not self.answer.done():
            self.answer.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self.answer.done():
            message = f"the edge closed the connection: {exc}" if exc else "the edge closed the connection"
            self.answer.set_exception(ConnectionResetError(message))
            self.answer.exception()  # the caller that waits for it gets the error
