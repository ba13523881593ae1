"""UDP through the proxy, on loopback."""

from __future__ import annotations

import asyncio
import socket

import uvloop

from seamark_cluster.routing.datagrams import DatagramListener
from seamark_cluster.routing.table import Address, Route


class Named(asyncio.DatagramProtocol):
    """A server that responds with its name."""

    def __init__(self, name: bytes) -> None:
        self._name = name
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a datagram transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        assert self._transport is not None
        self._transport.sendto(self._name + data, addr)


class Client(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answers: asyncio.Queue[bytes] = asyncio.Queue()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.answers.put_nowait(data)


def free() -> Address:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        return Address(*listener.getsockname())


async def server(name: bytes) -> tuple[asyncio.DatagramTransport, Address]:
    address = free()
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: Named(name), local_addr=address)
    return transport, address


def test_a_client_keeps_its_backend_until_that_is_gone_and_clients_are_spread() -> None:
    async def program() -> None:
        loop = asyncio.get_running_loop()
        (first_server, first), (second_server, second) = await server(b"a"), await server(b"b")
        listener = DatagramListener(free(), Route((first, second)), loop.time)
        await listener.open()
        clients = [await loop.create_datagram_endpoint(Client, remote_addr=listener.address) for _ in range(2)]

        async def ask(number: int) -> bytes:
            transport, client = clients[number]
            transport.sendto(b"?")
            return await asyncio.wait_for(client.answers.get(), 5)

        answers = [await ask(0), await ask(0), await ask(1), await ask(1)]
        assert answers[0] == answers[1] != answers[2] == answers[3]
        listener.route = Route((second,))
        assert [await ask(0), await ask(1)] == [b"b?", b"b?"]
        listener.close()
        for transport in (first_server, second_server, *(transport for transport, _ in clients)):
            transport.close()

    uvloop.run(program())
