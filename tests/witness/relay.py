"""A relay between the node and the outside: it can delay, lose, hold back or refuse what passes.

The kernel here has no netem, so packets of TCP can't be dropped; a lost segment shows as the pause until it is sent
again, which is what `LOSSY` makes. UDP datagrams are dropped.
"""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import cast

LATENCY = 0.15  # seconds, each way
PIECE = 65536
Address = tuple[str, int]


class Mode(Enum):
    PASS = "pass"
    SLOW = "slow"
    LOSSY = "lossy"
    SILENT = "silent"  # a partition: nothing passes, nothing is closed
    REFUSE = "refuse"  # connections are reset


@dataclass(eq=False)
class Link:
    """One way between a client on the node and its target. `modes` by the client's address; "" is for all others."""

    name: str
    listen: Address
    target: Address
    udp: bool = False
    modes: dict[str, Mode] = field(default_factory=dict)

    def mode(self, source: str) -> Mode:
        return self.modes.get(source) or self.modes.get("") or Mode.PASS


class Relays:
    """All links, in one thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._writers: dict[Link, set[tuple[str, asyncio.StreamWriter]]] = {}
        threading.Thread(target=self._loop.run_forever, name="relays", daemon=True).start()

    def open(self, link: Link) -> Link:
        asyncio.run_coroutine_threadsafe(self._open(link), self._loop).result(10)
        return link

    def set(self, link: Link, mode: Mode, source: str = "") -> None:
        link.modes[source] = mode
        if mode is Mode.REFUSE:
            self._loop.call_soon_threadsafe(self._abort, link, source)

    async def _open(self, link: Link) -> None:
        self._writers[link] = set()
        await asyncio.start_server(lambda r, w: self._accept(link, r, w), *link.listen)
        if link.udp:
            await self._loop.create_datagram_endpoint(lambda: _Datagrams(link), local_addr=link.listen)

    def _abort(self, link: Link, source: str) -> None:
        for address, writer in list(self._writers[link]):
            if source in {"", address}:
                writer.transport.abort()

    async def _accept(self, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = str(writer.get_extra_info("peername")[0])
        await self._held(link, source)
        if link.mode(source) is Mode.REFUSE:
            writer.transport.abort()
            return
        try:
            far_reader, far = await asyncio.open_connection(*link.target)
        except OSError:
            writer.transport.abort()
            return
        pair = {(source, writer), (source, far)}
        self._writers[link] |= pair
        try:
            await asyncio.gather(self._pass(link, source, reader, far), self._pass(link, source, far_reader, writer))
        finally:
            self._writers[link] -= pair
            for _, one in pair:
                one.transport.abort()

    async def _pass(self, link: Link, source: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(PIECE):
                await self._held(link, source)
                writer.write(piece)
                await writer.drain()
            await self._held(link, source)
            if writer.can_write_eof():
                writer.write_eof()
            return
        writer.transport.abort()

    @staticmethod
    async def _held(link: Link, source: str) -> None:
        mode = link.mode(source)
        if mode is Mode.SLOW:
            await asyncio.sleep(LATENCY)
        elif mode is Mode.LOSSY and random.random() < 0.1:
            await asyncio.sleep(random.choice((0.2, 0.4, 0.8)))
        while link.mode(source) is Mode.SILENT:
            await asyncio.sleep(0.1)


class _Datagrams(asyncio.DatagramProtocol):
    """Datagrams to the target, and what it answers back to who asked."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._transport: asyncio.DatagramTransport
        self._ways: dict[Address, asyncio.DatagramTransport] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: Address) -> None:
        task = asyncio.get_running_loop().create_task(self._forward(data, addr))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _forward(self, data: bytes, addr: Address) -> None:
        if not await self._passes(addr[0]):
            return
        loop, back = asyncio.get_running_loop(), _Back(self, addr)
        way, _ = await loop.create_datagram_endpoint(lambda: back, remote_addr=self._link.target)
        way.sendto(data)
        loop.call_later(10, way.close)

    async def answer(self, data: bytes, addr: Address) -> None:
        if await self._passes(addr[0]):
            self._transport.sendto(data, addr)

    async def _passes(self, source: str) -> bool:
        mode = self._link.mode(source)
        if mode is Mode.SLOW:
            await asyncio.sleep(LATENCY)
        return mode not in {Mode.SILENT, Mode.REFUSE} and not (mode is Mode.LOSSY and random.random() < 0.3)


class _Back(asyncio.DatagramProtocol):
    def __init__(self, owner: _Datagrams, addr: Address) -> None:
        self._owner = owner
        self._addr = addr
        self._task: asyncio.Task[None] | None = None

    def datagram_received(self, data: bytes, addr: Address) -> None:
        self._task = asyncio.get_running_loop().create_task(self._owner.answer(data, self._addr))
