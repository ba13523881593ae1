"""One connection through the proxy: two transports that feed each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import cast

from seamark.cluster.routing.table import Address

CONNECT_WITHIN = 3.0
HIGH_WATER = 1 << 20  # bytes on their way to a slow reader before the other side is asked to wait
BUFFER = 1 << 20  # costs memory only as far as it is filled; with a quarter of it, a byte costs a third more time


class Side(asyncio.BufferedProtocol):
    """One of the two ends.

    - What comes in here goes out at the other end, which may ask this one to wait (backpressure).
    - Nothing is copied here: a buffer that was read into is written from, and used again when all was sent.
    - An end of the stream is handed on as such: the other direction stays open (half-close) until it ends, too.
    - When one end is lost, the other is closed after what is under way was sent; a broken one breaks it.
    """

    transport: asyncio.Transport | None = None
    other: Side | None = None
    ended = False  # everything that comes in here has come

    def __init__(self) -> None:
        self._buffers: list[memoryview] = []
        self._current = 0  # those up to this one may still be on their way

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's are not of the class
        self.transport.set_write_buffer_limits(high=HIGH_WATER)

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
        """Whether this end stays open, for what may still go out."""
        self.ended = True
        other = self.other
        if other is None or other.transport is None or other.transport.is_closing():
            return False
        if other.ended:
            other.transport.close()  # after what is under way; the loss of it closes this end
        else:
            other.transport.write_eof()
        return True

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        other = self.other.transport if self.other is not None else None
        self.transport = None
        if other is not None and not other.is_closing():
            if exc is not None:
                other.abort()
            else:
                other.close()


class Inbound(Side):
    """A client's connection. What it says before a backend has taken it is kept; if none does, it is reset."""

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
        self._connecting: asyncio.Task[None] | None = None
        self._early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._open.add(self)
        assert self.transport is not None
        self._connecting = asyncio.get_running_loop().create_task(self._connect(self.transport))

    def buffer_updated(self, nbytes: int) -> None:
        if self.other is not None:
            super().buffer_updated(nbytes)
        elif self.transport is not None:
            self._early.append(bytes(self._buffers[self._current][:nbytes]))
            self.transport.pause_reading()  # not before: uvloop starts to read only after `connection_made`

    def eof_received(self) -> bool:
        if self.other is None:
            self.ended = True
            return True
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        if self._connecting is not None:
            self._connecting.cancel()
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
            except OSError:  # a timeout is one too: the next backend may be there
                continue
            self._join(side, transport)
            self._taken(client, backend)
            return
        transport.abort()

    def _join(self, side: Side, transport: asyncio.Transport) -> None:
        self._connecting = None
        if transport.is_closing():  # the client went meanwhile
            if side.transport is not None:
                side.transport.abort()
            return
        side.other, self.other = self, side
        if side.transport is not None:
            side.transport.writelines(self._early)
        self._early = []
        if self.ended:
            self.eof_received()
        else:
            transport.resume_reading()
