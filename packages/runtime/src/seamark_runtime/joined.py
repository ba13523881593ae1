"""Two connections, each written from what the other receives.

A protocol, because a StreamReader costs three times the CPU on a data path. How bytes are read is for the subclass.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import cast

RESET = struct.pack("ii", 1, 0)  # linger for no time at all


class Joined(asyncio.BaseProtocol):
    """One of the two ends.

    - An end that does not drain pauses the reading of the other one (backpressure).
    - When one end is lost, the other is closed after its pending bytes; a reset is forwarded, so that a cut-off body
      never looks complete.
    """

    HIGH_WATER = 1 << 20  # bytes buffered for a slow reader before the other end is paused

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: Joined | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's class is not a subclass
        self.transport.set_write_buffer_limits(high=self.HIGH_WATER)

    @property
    def opposite(self) -> asyncio.Transport | None:
        """The transport of the other end, while it can be used."""
        transport = self.other.transport if self.other is not None else None
        return None if transport is None or transport.is_closing() else transport

    def pause_writing(self) -> None:
        if self.opposite is not None:
            self.opposite.pause_reading()

    def resume_writing(self) -> None:
        if self.opposite is not None:
            self.opposite.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
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
        """Ends the connection with a reset: the peer can't take what it received for all there was."""
        reset(self.transport)


class Accepted(Joined):
    """The end that was accepted first: the other one is connected by a task.

    - What it receives until then is kept, and sent first. At `MOST_EARLY` bytes of that, reading pauses.
    - When it is lost before that, the task is cancelled.
    """

    MOST_EARLY = 1

    def __init__(self) -> None:
        super().__init__()
        self.connecting: asyncio.Task[None] | None = None
        self._early = bytearray()

    def keep(self, data: bytes | bytearray | memoryview) -> None:
        self._early += data
        if self.transport is not None and len(self._early) >= self.MOST_EARLY:
            self.transport.pause_reading()

    def joined(self, other: Joined) -> bool:
        """Whether both ends can still be used. They are joined then, and reading is for the caller to resume."""
        self.connecting = None
        if self.transport is None or self.transport.is_closing() or other.transport is None:
            return False
        self.other, other.other = other, self
        if self._early:
            other.transport.write(bytes(self._early))
            self._early.clear()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self.connecting is not None:
            self.connecting.cancel()
        super().connection_lost(exc)


def reset(transport: asyncio.Transport | None) -> None:
    if transport is None:
        return
    raw = transport.get_extra_info("socket")
    if raw is not None and not transport.is_closing():
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    transport.abort()
