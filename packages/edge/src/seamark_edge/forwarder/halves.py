"""A Pod's connection and its connection to the edge, joined: bytes both ways at the pace of the slower side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from seamark_edge.wire.bindings import PROBE, ConnResponse, PreambleError, PreambleReader
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.splice import Buffered
from seamark_runtime.joined import Accepted, Joined

QUIET = 1.0  # seconds without a byte after which a connection is over whose Pod has ended, or half-closed, its side


class Half(Joined, Buffered):
    """One of the two connections."""

    HIGH_WATER = 512 * 1024

    def __init__(self) -> None:
        super().__init__()
        self.gone = False

    def data_received(self, data: Bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(bytes(data))  # the buffer is used again at once

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        super().connection_lost(exc)


class PodHalf(Half, Accepted):
    """A Pod's connection. What it says before the edge has taken it is kept, up to a bound.

    - Where the first bytes are a probe, `probed` is called, and they go nowhere else.
    - A Pod that has half-closed its connection still gets everything that is sent to it. TLS has no half-close to
      pass on:
      when nothing has come for a second, the whole connection is closed.
    """

    MOST_EARLY = 256 * 1024

    def __init__(
        self,
        opened: Callable[[PodHalf], None],
        closed: Callable[[PodHalf], None],
        probed: Callable[[PodHalf], None] = lambda _: None,
    ) -> None:
        super().__init__()
        self._opened = opened
        self._closed = closed
        self._probed = probed
        self._first = True  # nothing has come yet
        self.taken = 0  # bytes that came for the Pod

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._opened(self)

    def data_received(self, data: Bytes) -> None:
        first, self._first = self._first, False
        if first and bytes(data) == PROBE:
            self._probed(self)
            return
        if self.other is not None:
            super().data_received(data)
            return
        self.keep(data)

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
        if not self.joined(edge) or self.transport is None or edge.transport is None:
            edge.other_lost(broken=True)
            self.other_lost(broken=True)
            return
        if edge.rest:
            self.transport.write(edge.rest)
        edge.transport.resume_reading()
        self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
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
