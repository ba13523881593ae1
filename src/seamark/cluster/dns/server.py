"""DNS over UDP and TCP."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import cast

from seamark.core.errors import UserError

IDLE = 10.0  # seconds without a question after which a stream is closed
MOST_STREAMS = 256

Reply = Callable[[bytes], bytes | None]


class DnsServer:
    """Listens on one address, on both transports, until closed. `reply` is asked with `stream=True` for TCP."""

    def __init__(self, udp: Reply, tcp: Reply) -> None:
        self._udp_reply = udp
        self._tcp_reply = tcp
        self._udp: asyncio.DatagramTransport | None = None
        self._tcp: asyncio.Server | None = None
        self._streams: set[_Stream] = set()

    async def start(self, host: str, port: int = 53) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._tcp = await loop.create_server(lambda: _Stream(self._tcp_reply, self._streams), host, port)
            self._udp, _ = await loop.create_datagram_endpoint(
                lambda: _Datagrams(self._udp_reply), local_addr=(host, port)
            )
        except OSError as error:
            self.close()
            hint = "choose another address, or run with the rights for port 53"
            raise UserError(f"DNS can't listen on {host}:{port} ({error.strerror or error})", hint=hint) from None

    def close(self) -> None:
        if self._udp is not None:
            self._udp.close()
            self._udp = None
        if self._tcp is not None:
            self._tcp.close()
            self._tcp = None
        for stream in list(self._streams):
            stream.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)  # uvloop's are not of the class

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self._reply(data)
        if answer is not None:
            self._transport.sendto(answer, addr)

    def error_received(self, exc: Exception) -> None:
        """An asker that went away before its answer came."""


class _Stream(asyncio.Protocol):
    def __init__(self, reply: Reply, open_ones: set[_Stream]) -> None:
        self._reply = reply
        self._open = open_ones
        self._data = b""
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._open.add(self)
        if len(self._open) > MOST_STREAMS:
            self.close()
        self._wait()

    def data_received(self, data: bytes) -> None:
        self._data += data
        while len(self._data) >= 2:
            (length,) = struct.unpack_from("!H", self._data)
            if len(self._data) < 2 + length:
                break
            question, self._data = self._data[2 : 2 + length], self._data[2 + length :]
            answer = self._reply(question)
            if answer is None:
                self.close()
                return
            if self._transport is not None:
                self._transport.write(struct.pack("!H", len(answer)) + answer)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(IDLE, self.close)
