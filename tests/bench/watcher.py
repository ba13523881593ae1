"""The user who looks: a watch that notes when each object is done. It runs in every measurement, on both sides."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Collection

import aiohttp
import msgspec

from seamark_runtime.errors import SeamarkError
from tests.bench.bare import DOWN, RETRY, Bare
from tests.bench.scenario import Scenario


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


_LINE = msgspec.json.Decoder(_Line)


class Watcher:
    """Follows the watched kind in a namespace.

    - `done` has the names of those among the `wanted` that are finished, `last` is when the newest one was.
    - `took_ms` is, for each of those, the time since the watch showed it first.
    """

    def __init__(self, bare: Bare, scenario: Scenario, namespace: str, wanted: Collection[str]) -> None:
        self._bare = bare
        self._scenario = scenario
        self._path = scenario.watched.RESOURCE.path(namespace)
        self._decoder = msgspec.json.Decoder(scenario.watched)
        self._wanted = set(wanted)
        self.done: set[str] = set()
        self.last = 0.0
        self.took_ms: list[float] = []
        self._seen: dict[str, float] = {}
        self._opened = asyncio.Event()
        self._news = asyncio.Event()

    async def opened(self) -> None:
        await self._opened.wait()

    async def until(self, count: int, seconds: float) -> float:
        """The moment at which so many were done."""
        deadline = time.monotonic() + seconds
        while len(self.done) < count:
            self._news.clear()
            try:
                async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                    await self._news.wait()
            except TimeoutError:
                raise SeamarkError(f"only {len(self.done)} of {count} were done within {seconds:.0f} s") from None
        return self.last

    async def run(self) -> None:
        """Follows, and follows again from the beginning when the server goes away."""
        while True:
            with contextlib.suppress(*DOWN):
                await self._follow()
            await asyncio.sleep(RETRY)

    async def _follow(self) -> None:
        query = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "3600"}
        limits = aiohttp.ClientTimeout(total=None)
        async with self._bare.session.get(self._bare.url(self._path), params=query, timeout=limits) as response:
            if response.status != 200:
                return
            self._opened.set()
            rest = b""
            async for chunk in response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._note(line)

    def _note(self, line: bytes) -> None:
        event = _LINE.decode(line)
        if event.type not in ("ADDED", "MODIFIED"):
            return
        obj = self._decoder.decode(event.object)
        name = obj.metadata.name
        if name not in self._wanted or name in self.done:
            return
        seen = self._seen.setdefault(name, time.monotonic())
        if self._scenario.done(obj):
            self.done.add(name)
            self.last = time.monotonic()
            self.took_ms.append(1000 * (self.last - seen))
            self._news.set()


@contextlib.asynccontextmanager
async def watching(bare: Bare, scenario: Scenario, namespace: str, wanted: Collection[str]) -> AsyncIterator[Watcher]:
    """A watcher whose connection is open."""
    watcher = Watcher(bare, scenario, namespace, wanted)
    task = asyncio.get_running_loop().create_task(watcher.run())
    try:
        await watcher.opened()
        yield watcher
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
