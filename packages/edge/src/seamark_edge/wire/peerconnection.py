"""A connection that carries a muxado session, as both sides have it: an edge's to an agent, an agent's to an edge."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, cast

from seamark_edge.wire.muxado import Code, Handler, Limits, ProtocolError, Session, Stream
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.splice import Buffered
from seamark_runtime.pacing import InputAccount, PacedInput

OUT_HIGH, OUT_LOW = 1024 * 1024, 256 * 1024  # one connection carries all streams: it must not run dry
MAX_WINDOW = 4 * 1024 * 1024  # of one stream, whatever the other side asks for
GOODBYE_SECONDS = 2.0


class PeerConnection(Buffered, ABC):
    """Bytes of the connection go into the session at the pace of an account, those of the session to the connection.

    - After a violation of the protocol nothing more is read; the subclass ends the connection (`broke`).
    - While the connection does not drain, those who write into streams wait.
    - When it is lost, every stream is lost with `LOST`.
    """

    LOST: ClassVar[Code]

    def __init__(self, *, client: bool, limits: Limits, account: InputAccount) -> None:
        self._session = Session(self, client=client, limits=limits)
        self._input = PacedInput(account, self._handle, self._resume)
        self._transport: asyncio.Transport | None = None  # None before the connection is made, and after it is lost
        self._broken = False  # by a violation of the protocol

    @abstractmethod
    def broke(self, error: ProtocolError) -> None:
        """The peer has violated the protocol; the connection is to be ended."""

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=OUT_HIGH, low=OUT_LOW)
        self._input.connected(self._transport)

    def data_received(self, data: Bytes) -> None:
        self._input.received(data, self.read_since)

    def _handle(self, data: Bytes, enough: Callable[[], bool]) -> bool:
        if self._broken:
            return True
        try:
            return self._session.feed(data, enough)
        except ProtocolError as error:
            self._broken = True
            self.broke(error)
            return True

    def _resume(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        self._input.flush()
        return False

    def pause_writing(self) -> None:
        self._session.pause()

    def resume_writing(self) -> None:
        self._session.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._input.close()
        self._session.lost(self.LOST)

    # muxado's Owner

    def transmit(self, pieces: list[Bytes]) -> None:
        if self._transport is not None:
            self._transport.writelines(pieces)

    @abstractmethod
    def opened(self, stream: Stream, kind: int) -> Handler: ...

    @abstractmethod
    def going_away(self, code: int, debug: bytes) -> None: ...

    @abstractmethod
    def failed(self, error: Exception) -> None: ...

    # its end

    def close(self) -> None:
        """Announces the end; a peer that does not close in turn is cut off soon after."""
        if self._transport is not None:
            self._session.leave()
            self._transport.close()
            asyncio.get_running_loop().call_later(GOODBYE_SECONDS, self.abort)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
