"""An agent without scruples: the session of a real one, and whatever bytes one likes in its requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from types import TracebackType
from typing import Any

from seamark_edge.wire.muxado import Code, Handler, Limits, ProtocolError, Session, Stream
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.tunnel import StreamType
from tests.edge.running import RunningEdge

ANSWER_SECONDS = 8.0


class Gone(OSError):
    """The edge ended the session."""


class Answer:
    """What comes back on one stream."""

    def __init__(self) -> None:
        self.done: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self.stream: Stream | None = None
        self._data = b""

    def received(self, data: Bytes) -> None:
        self._data += bytes(data)
        if self.stream is not None:
            self.stream.credit(len(data))

    def ended(self) -> None:
        self._end(self._data)

    def lost(self, code: int) -> None:
        self._end(None)

    def writable(self) -> None:
        pass

    def _end(self, data: bytes | None) -> None:
        if not self.done.done():
            self.done.set_result(data)


class Ignored(Answer):
    """A stream that the edge opened: a client whose connection is swallowed."""

    clients = 0

    def received(self, data: Bytes) -> None:
        pass


class RawAgent:
    """A session at the agents' port. `ask` sends a request as it is; `send` sends frames as they are."""

    def __init__(self, edge: RunningEdge, token: str = "") -> None:
        self._edge = edge
        self._token = token or edge.token
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._session = Session(self, client=True, limits=Limits(inbound=100_000))
        self.clients = 0  # connections that the edge sent here

    async def __aenter__(self) -> RawAgent:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def connect(self) -> None:
        context = ssl.create_default_context(cafile=self._edge.ca)
        reader, self._writer = await asyncio.open_connection(
            "127.0.0.1", self._edge.ports["agent_port"], ssl=context, server_hostname="127.0.0.1"
        )
        self._reading = asyncio.create_task(self._read(reader))

    async def authenticate(self, **extra: Any) -> None:
        body = {"Version": ["3"], "ClientId": "", "Extra": {"Authtoken": self._token, **extra}}
        answer = await self.ask(StreamType.AUTH, json.dumps(body).encode())
        if answer is None or answer.get("Error"):
            raise Gone(str(answer))

    async def ask(self, kind: int, body: bytes) -> dict[str, Any] | None:
        """The answer; None for a stream that was reset. Raises Gone if the session ends first."""
        answer = Answer()
        if self._session.closed or self._session.remote_gone:
            raise Gone("the session is over")
        answer.stream = self._session.open(kind, answer)
        for at in range(0, len(body), 60_000):
            answer.stream.write(body[at : at + 60_000])
        answer.stream.finish()
        await self._drained()
        async with asyncio.timeout(ANSWER_SECONDS):
            data = await answer.done
        if data is None:
            if self._session.closed:
                raise Gone("the session ended")
            return None
        found: dict[str, Any] = json.loads(data)
        return found

    async def send(self, frames: bytes) -> None:
        assert self._writer is not None
        self._writer.write(frames)
        await self._drained()

    async def ended(self) -> None:
        """Until the edge ends the session."""
        assert self._reading is not None
        await asyncio.wait([self._reading])

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        self._session.lost(Code.SESSION_CLOSED)

    # muxado's Owner

    def transmit(self, pieces: list[Bytes]) -> None:
        if self._writer is not None and not self._writer.transport.is_closing():
            self._writer.writelines(bytes(piece) for piece in pieces)

    def opened(self, stream: Stream, kind: int) -> Handler:
        self.clients += kind == StreamType.PROXY
        return Ignored()

    def going_away(self, code: int, debug: bytes) -> None:
        pass

    def failed(self, error: Exception) -> None:
        raise error

    async def _drained(self) -> None:
        assert self._writer is not None
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while data := await reader.read(65536):
                self._session.feed(data)
        except (OSError, ssl.SSLError, ProtocolError):
            pass
        finally:
            self._session.lost(Code.PEER_EOF)
