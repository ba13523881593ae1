"""One TCP connection through the proxy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from seamark_cluster.routing.table import Address
from seamark_runtime.joined import Accepted, Joined

CONNECT_WITHIN = 3.0
BUFFER = 1 << 20  # memory is used only as far as it is filled; with a quarter of it, CPU per byte grows by a third


class Side(Joined, asyncio.BufferedProtocol):
    """One of the two ends.

    - Nothing is copied: bytes are written from the buffer they were read into, which is reused when all are sent.
    - An end of stream is forwarded: the other direction stays open (half-close) until it ends as well.
    """

    other: Side | None
    ended = False  # end of stream received

    def __init__(self) -> None:
        super().__init__()
        self._buffers: list[memoryview] = []
        self._current = 0  # buffers up to this one may still be in use by the transport

    def get_buffer(self, sizehint: int) -> memoryview:
        other = self.other.transport if self.other is not None else None
        self._current = 0 if other is None or not other.get_write_buffer_size() else self._current + 1
        if self._current >= len(self._buffers):
            self._buffers.append(memoryview(bytearray(BUFFER)))
            self._current = len(self._buffers) - 1
        return self._buffers[self._current]

    def buffer_updated(self, nbytes: int) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(self._buffers[self._current][:nbytes])

    def eof_received(self) -> bool:
        """Keeps this end open for writing after its end of stream."""
        self.ended = True
        other = self.other
        if other is None or other.transport is None or other.transport.is_closing():
            return False
        if other.ended:
            other.transport.close()  # after pending bytes; the loss of that end closes this one
        else:
            other.transport.write_eof()
        return True


class Inbound(Side, Accepted):
    """A client's connection. Bytes received before a backend accepted are kept; if none accepts, it is reset."""

    def __init__(
        self,
        choose: Callable[[str], Iterator[Address]],
        taken: Callable[[str, Address], None],
        open_ones: set[Inbound],
    ) -> None:
        super().__init__()
        self._choose = choose
        self._taken = taken
        self._open = open_ones

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._open.add(self)
        assert self.transport is not None
        self.connecting = asyncio.get_running_loop().create_task(self._connect(self.transport))

    def buffer_updated(self, nbytes: int) -> None:
        if self.other is not None:
            super().buffer_updated(nbytes)
        else:  # reading is not paused earlier: uvloop starts to read only after `connection_made`
            self.keep(self._buffers[self._current][:nbytes])

    def eof_received(self) -> bool:
        if self.other is None:
            self.ended = True
            return True
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        super().connection_lost(exc)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    async def _connect(self, transport: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        client: str = transport.get_extra_info("peername")[0]
        for backend in self._choose(client):
            try:
                async with asyncio.timeout(CONNECT_WITHIN):
                    _, side = await loop.create_connection(Side, backend.host, backend.port)
            except OSError:  # timeouts included: the next backend may accept
                continue
            self._join(side, transport)
            self._taken(client, backend)
            return
        transport.abort()

    def _join(self, side: Side, transport: asyncio.Transport) -> None:
        if not self.joined(side):  # the client closed meanwhile
            if side.transport is not None:
                side.transport.abort()
        elif self.ended:
            self.eof_received()
        else:
            transport.resume_reading()
