"""A hard life for an operator: everything that it does only in need, it has to do here.

- The server streams no lists: each kind is listed.
- Watches are late, and every key is looked at again and again meanwhile: what was written is read live.
- Each controller fails on every other of its first passes: an event reports it, each time.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.controller import Controller, Declaration
from seamark_runtime.transport import Answer, HttpRequest, Stream, Transport
from tests.cluster.score_operator import Running, running_as

LATE, PATIENCE, NUDGE = 0.4, 0.1, 0.15
FAILURES = 3
UNKNOWN = b'{"kind": "Status", "code": 422, "reason": "Invalid", "message": "sendInitialEvents is forbidden"}'


class Hard:
    """A transport through which watches are late, and lists are not streamed."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: HttpRequest) -> Answer:
        return await self._inner.send(request)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[Stream]:
        return _refusing() if "sendInitialEvents" in request.query else self._late(request)

    @asynccontextmanager
    async def _late(self, request: HttpRequest) -> AsyncIterator[Stream]:
        async with self._inner.stream(request) as stream:
            yield _Late(stream)

    async def close(self) -> None:
        await self._inner.close()


class _Late:
    def __init__(self, stream: Stream) -> None:
        self.status = stream.status
        self._stream = stream

    async def chunks(self) -> AsyncIterator[bytes]:
        """Each so long after it came: all are late, and none is later than the others."""
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        reading = loop.create_task(self._collect(arrived))
        try:
            while True:
                came, chunk = await arrived.get()
                await asyncio.sleep(came + LATE - loop.time())
                if not chunk:
                    await reading  # it has ended, and maybe with an error
                    return
                yield chunk
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _collect(self, arrived: asyncio.Queue[tuple[float, bytes]]) -> None:
        loop = asyncio.get_running_loop()
        try:
            async for chunk in self._stream.chunks():
                arrived.put_nowait((loop.time(), chunk))
        finally:
            arrived.put_nowait((loop.time(), b""))

    async def read(self) -> bytes:
        return await self._stream.read()


class _Refused:
    status = 422

    async def chunks(self) -> AsyncIterator[bytes]:
        yield UNKNOWN

    async def read(self) -> bytes:
        return UNKNOWN


@asynccontextmanager
async def _refusing() -> AsyncIterator[Stream]:
    yield _Refused()


def failing(one: Declaration) -> Declaration:
    """Has a bug that shows a few times, and not twice in a row: a repeated failure is not reported again."""
    if not isinstance(one, Controller):
        return one
    passes = itertools.count()

    def judge(seen: Any, answers: Any) -> Any:
        number = next(passes)
        if number < 2 * FAILURES and number % 2 == 0:
            raise RuntimeError("a bug, on purpose")
        return one.judge(seen, answers)

    return replace(one, judge=judge)


@contextmanager
def hard_running(plane: ControlPlane, declared: tuple[Declaration, ...], token: str) -> Iterator[Running]:
    with running_as(plane, tuple(map(failing, declared)), token, Hard) as at_work:
        at_work.operator.loop._dependencies.expectations._bound = PATIENCE
        stop = threading.Event()
        nudging = threading.Thread(target=_nudge, args=(at_work, stop))
        nudging.start()
        try:
            yield at_work
        finally:
            stop.set()
            nudging.join()


def _nudge(at_work: Running, stop: threading.Event) -> None:
    """Every key that has something to look at is looked at again."""
    router = at_work.operator.loop.router

    def all_of_them() -> None:
        for request in list(router.reads._reads):
            router.enqueue(request)

    while not stop.wait(NUDGE):
        at_work._loop.call_soon_threadsafe(all_of_them)
