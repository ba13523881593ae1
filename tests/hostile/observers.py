"""What is looked at from outside for as long as a run takes: the metrics of every process, and the console's page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

import aiohttp

from tests.hostile.client import Client
from tests.hostile.programs import Loop, Program, loop_of, scraped
from tests.hostile.report import BLOCK_MS
from tests.hostile.world import CONSOLE


class Metrics:
    """Reads /metrics of every process again and again; keeps the worst, and what was in flight when it got worse."""

    def __init__(self, programs: Iterable[Program], flying: Callable[[], list[str]]) -> None:
        self._programs = tuple(programs)
        self._flying = flying
        self.blamed: list[str] = []
        self.blocks: dict[str, float | None] = {program.name: None for program in self._programs}
        self.crashed = 0.0
        self._before: dict[str, float] = {}

    async def run(self) -> None:
        while True:
            await self.read()
            await asyncio.sleep(1)

    async def read(self) -> None:
        for program in self._programs:
            if text := await asyncio.to_thread(scraped, program.metrics):
                self.heard(program.name, loop_of(text))

    def heard(self, name: str, loop: Loop) -> None:
        worst = self.blocks[name]
        if loop.block_ms is not None and (worst is None or loop.block_ms > worst):
            self.blocks[name] = loop.block_ms
            if loop.block_ms > BLOCK_MS:
                flying = "; ".join(self._flying())
                self.blamed.append(f"{name}: the loop was held for {loop.block_ms:.0f} ms, with {flying}")
        before = self._before.get(name, 0.0)
        self.crashed += loop.crashed - before if loop.crashed >= before else loop.crashed
        self._before[name] = loop.crashed


class ConsoleReader:
    """What the console shows to a token, line by line."""

    def __init__(self, token: str, inspect: Callable[[str, str, bytes], None]) -> None:
        self._token = token
        self._inspect = inspect
        self.lines = 0

    async def run(self) -> None:
        async with Client(f"http://{CONSOLE}", None, self._token) as page:
            while True:
                with suppress(aiohttp.ClientError, TimeoutError, OSError):
                    async for line in page.lines("/api/stream"):
                        self.lines += line.startswith(b"data:")
                        self._inspect("the console", "", line)
                await asyncio.sleep(1)
