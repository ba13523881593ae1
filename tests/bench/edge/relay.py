"""Joins two connections, both ways, at the pace of the slower side. The way of bytes that need no tunnel.

Like `splice`, this opens nothing and waits for nothing; the transports are passed in by the loop.
"""

from __future__ import annotations

import asyncio
from typing import cast


class Relay(asyncio.Protocol):
    """One half of a pair: what its connection sends goes to the other half's connection.

    - A half whose peer does not drain stops reading; what came before the peer was connected is kept, reading paused.
    - A half-close travels as a half-close; a lost connection aborts the other.
    """

    __slots__ = ("_early", "_ended", "peer", "transport")

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.peer: Relay | None = None
        self._early: list[bytes] = []
        self._ended = False

    def join(self, other: Relay) -> None:
        """Make the two halves one way. What came in early goes out now."""
        self.peer, other.peer = other, self
        for one, two in ((self, other), (other, self)):
            if one.transport is None:
                two.lost_peer()
                continue
            if two.transport is not None:
                two.transport.writelines(one._early)
                one._early.clear()
                if one._ended:
                    two.end()
            one.transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        peer = self.peer
        if peer is None:
            self._early.append(data)
            if self.transport is not None:
                self.transport.pause_reading()
        elif peer.transport is not None:
            peer.transport.write(data)

    def eof_received(self) -> bool:
        self._ended = True
        if self.peer is not None:
            self.peer.end()
        return self.transport is not None and self.transport.can_write_eof()

    def pause_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None and not self.peer.transport.is_closing():
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None and not self.peer.transport.is_closing():
            self.peer.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if self.peer is not None:
            self.peer.lost_peer()

    def end(self) -> None:
        """The other side has half-closed."""
        if self.transport is None or self.transport.is_closing():
            return
        if self._ended or not self.transport.can_write_eof():
            self.transport.close()
        else:
            self.transport.write_eof()

    def lost_peer(self) -> None:
        if self.transport is not None:
            self.transport.close()
