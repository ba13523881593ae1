"""Plain TCP forwarding with the product's relay: the tunnel's price is measured against this."""

from __future__ import annotations

import asyncio
import sys

import uvloop

from seamark_edge.wire.memory import keep_buffers
from tests.bench.edge.relay import Relay

tasks: set[asyncio.Task[None]] = set()


class Front(Relay):
    """A client's half: dials the target and joins."""

    __slots__ = ("_target",)

    def __init__(self, target: int) -> None:
        super().__init__()
        self._target = target

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        task = asyncio.get_running_loop().create_task(self._dial())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _dial(self) -> None:
        _, other = await asyncio.get_running_loop().create_connection(Relay, "127.0.0.1", self._target)
        self.join(other)


async def main() -> None:
    port, target = int(sys.argv[1]), int(sys.argv[2])
    server = await asyncio.get_running_loop().create_server(lambda: Front(target), "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    keep_buffers()
    uvloop.run(main())
