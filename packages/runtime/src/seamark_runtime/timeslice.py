"""Yields to the event loop between reconciles that never wait.

A reconcile of a healthy object reads caches and waits for nothing, and so does the next one: ten thousand of them in a
row would keep sockets and timers (the Lease's among them) from their turn for a second.
"""

from __future__ import annotations

import asyncio

UNUSED = float("inf")  # the end of a slice without a caller


class TimeSlice:
    """So much time may be worked between two looks at sockets and timers, by however many tasks share the slice.

    - `turn` returns at once while the slice lasts. Then all callers wait for one round of the event loop.
    - A slice begins with its first caller: busy sockets can't use it up.
    - With virtual time, which does not pass during work, a slice never ends.
    """

    def __init__(self, seconds: float = 0.01) -> None:
        self._seconds = seconds
        self._ends = UNUSED
        self._round: asyncio.Event | None = None

    async def turn(self) -> None:
        loop = asyncio.get_running_loop()
        while self._round is not None or loop.time() >= self._ends:
            if self._round is None:
                self._round = asyncio.Event()
                loop.call_soon(self._been_round, self._round)
            await self._round.wait()
        if self._ends == UNUSED:
            self._ends = loop.time() + self._seconds

    def _been_round(self, waiting: asyncio.Event) -> None:
        self._ends = UNUSED
        self._round = None
        waiting.set()
