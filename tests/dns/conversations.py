"""A TCP server of a test, each of whose connections has a task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from seamark_cluster.real.ports import Ports


class Conversations:
    """`converse` is called for each connection, and cancelled at the end."""

    def __init__(self) -> None:
        self._talking: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(self, host: str = "127.0.0.1", limit: int = 2**16) -> AsyncIterator[int]:
        """Its port."""
        with Ports(host) as ports:
            port = ports.reserve()
            server = await asyncio.start_server(self._connected, host, port, limit=limit)
            try:
                yield port
            finally:
                server.close()
                for task in self._talking:
                    task.cancel()
                await asyncio.gather(*self._talking, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self.converse(reader, writer))
        self._talking.add(task)
        task.add_done_callback(self._talking.discard)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError
