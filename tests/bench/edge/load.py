"""The two ends of every measurement: a service behind, and clients in front. Plain sockets, as fast as they go."""

from __future__ import annotations

import asyncio
import socket
import statistics
import sys
import threading
import time
from typing import cast

import uvloop

BLOCK = 1 << 18
DOWN, UP = b"D", b"U"


def bulk(connection: socket.socket) -> None:
    """One transfer: a letter, eight bytes of length, then that many bytes down, or up with one byte back."""
    with connection:
        head = b""
        while len(head) < 9:
            if not (piece := connection.recv(9 - len(head))):
                return
            head += piece
        left = int.from_bytes(head[1:], "big")
        if head[:1] == DOWN:
            block = memoryview(bytes(BLOCK))
            while left:
                left -= connection.send(block[: min(left, BLOCK)])
        else:
            take(connection, left)
            connection.sendall(b"k")


def take(connection: socket.socket, left: int) -> None:
    buffer = memoryview(bytearray(BLOCK))
    while left:
        got = connection.recv_into(buffer, min(left, BLOCK))
        if not got:
            raise ConnectionError("ended early")
        left -= got


def transfer(port: int, kind: bytes, size: int) -> float:
    """Bytes a second of one transfer."""
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        connection.settimeout(120)
        start = time.perf_counter()
        connection.sendall(kind + size.to_bytes(8, "big"))
        if kind == DOWN:
            take(connection, size)
        else:
            block = memoryview(bytes(BLOCK))
            left = size
            while left:
                left -= connection.send(block[: min(left, BLOCK)])
            connection.recv(1)
        return size / (time.perf_counter() - start)


def pings(port: int, count: int) -> float:
    """The median round trip of one byte, in seconds."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        times = []
        for _ in range(count):
            start = time.perf_counter()
            connection.sendall(b"x")
            connection.recv(1)
            times.append(time.perf_counter() - start)
        return statistics.median(times)


class Once(asyncio.Protocol):
    """A client's connection: sends a byte, waits for it to come back, closes."""

    def __init__(self, done: asyncio.Future[None]) -> None:
        self.done = done
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(b"x")

    def data_received(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def connections(port: int, seconds: float, at_once: int = 32) -> float:
    """New connections a second, each with a byte there and back."""
    loop = asyncio.get_running_loop()
    made = 0
    end = time.perf_counter() + seconds

    async def worker() -> None:
        nonlocal made
        while time.perf_counter() < end:
            done: asyncio.Future[None] = loop.create_future()
            await loop.create_connection(lambda: Once(done), "127.0.0.1", port)  # noqa: B023  # awaited in this turn
            await done
            made += 1

    start = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return made / (time.perf_counter() - start)


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


async def echo(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


def serve_bulk(port: int) -> None:
    with socket.create_server(("127.0.0.1", port), backlog=64) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=bulk, args=(connection,), daemon=True).start()


def main() -> None:
    role, port = sys.argv[1], int(sys.argv[2])
    if role == "bulk":
        serve_bulk(port)
    elif role == "echo":
        uvloop.run(echo(port))
    elif role == "connections":
        sys.stdout.write(str(uvloop.run(connections(port, float(sys.argv[3])))))


if __name__ == "__main__":
    main()
