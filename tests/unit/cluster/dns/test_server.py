"""DNS on sockets: both transports, several questions on one stream, a port that is taken."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest
import uvloop

from seamark.cluster.dns.server import DnsServer
from seamark.core.errors import UserError


def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port


class Asker(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.answer.set_result(data)


def test_datagrams_and_streams_are_answered() -> None:
    async def program() -> None:
        port = free()
        server = DnsServer(lambda data: b"udp:" + data, lambda data: b"tcp:" + data)
        await server.start("127.0.0.1", port)
        transport, asker = await asyncio.get_running_loop().create_datagram_endpoint(
            Asker, remote_addr=("127.0.0.1", port)
        )
        transport.sendto(b"question")
        assert await asyncio.wait_for(asker.answer, 5) == b"udp:question"
        transport.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        both = struct.pack("!H", 1) + b"a" + struct.pack("!H", 2) + b"bc"
        writer.write(both[:4])
        await asyncio.sleep(0)
        writer.write(both[4:])
        assert await reader.readexactly(2 + 5 + 2 + 6) == b"\0\5tcp:a\0\6tcp:bc"
        server.close()
        assert await reader.read() == b""
        writer.close()

    uvloop.run(program())


def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    async def program(port: int) -> None:
        await DnsServer(lambda data: data, lambda data: data).start("127.0.0.1", port)

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UserError, match="DNS can't listen on"):
        uvloop.run(program(taken.getsockname()[1]))
