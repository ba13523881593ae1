"""Results of dialling upstreams, and endpoints that can't be held, sent to the edge."""

from __future__ import annotations

import asyncio
import contextlib
import time

from seamark_edge.agent.link import Link
from seamark_edge.wire import tunnel
from seamark_edge.wire.tunnel import StreamType
from seamark_runtime.errors import Refused, Retry

EVERY = 5.0  # seconds after which the same result is sent again
MOST_UNDER_WAY = 64


class Reports:
    """Sends results over one connection.

    - A result that differs from the last one is sent at once; the same one again at most every `EVERY` seconds.
    - At most `MOST_UNDER_WAY` are under way: one more is left out, and the next dial is reported.
    - Endpoints that can't be held are sent one after the other, the newest report of each.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._last: dict[str, tuple[str, float]] = {}  # by bind: the trouble that was sent, and when
        self._tasks: set[asyncio.Task[None]] = set()
        self._unusable: dict[str, tunnel.UnusableEndpoint] = {}  # by name: not sent yet
        self._sending: asyncio.Task[None] | None = None  # one at most

    def dialled(self, bind_id: str, trouble: str) -> None:
        """The upstream of this bind was dialled. An empty `trouble` is success."""
        now, (last, at) = time.monotonic(), self._last.get(bind_id, ("", float("-inf")))
        if (last == trouble and now - at < EVERY) or len(self._tasks) >= MOST_UNDER_WAY:
            return
        self._last[bind_id] = (trouble, now)
        task = asyncio.get_running_loop().create_task(self._send(bind_id, trouble))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def unusable(self, message: tunnel.UnusableEndpoint) -> None:
        self._unusable[message.name] = message
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send_unusable())
            self._tasks.add(self._sending)
            self._sending.add_done_callback(self._tasks.discard)

    async def _send_unusable(self) -> None:
        while self._unusable:
            message = self._unusable.pop(next(iter(self._unusable)))
            with contextlib.suppress(Refused, Retry):  # an edge that does not know it, or the connection is lost
                await self._link.call(StreamType.UNUSABLE, message, tunnel.Outcome)

    def forget(self, bind_id: str) -> None:
        self._last.pop(bind_id, None)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _send(self, bind_id: str, trouble: str) -> None:
        report = tunnel.UpstreamReport(id=bind_id, reachable=not trouble, detail=trouble)
        with contextlib.suppress(Refused, Retry):  # the bind is gone, or the connection: the next dial reports again
            await self._link.call(StreamType.REPORT, report, tunnel.Outcome)
