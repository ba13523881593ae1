"""An honest client in a process of its own: python -m tests.hostile.edge.canary HOST:PORT OPS_PORT.

It pings over connections that stay, makes a new one now and then, and asks for /healthz of the edge; from an address of
its own, so that no limit per source makes it share with the attackers. Each line that it reads ends a period,
which is printed as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

SOURCE = "127.0.0.9"
STEADY, PAUSE, NEW = 4, 0.02, 0.1
LATE = 10.0


class Period:
    def __init__(self) -> None:
        self.millis: list[float] = []
        self.health: list[float] = []  # milliseconds of requests for /healthz
        self.failures: list[str] = []

    def told(self) -> str:
        found, health = sorted(self.millis) or [0.0], sorted(self.health) or [0.0]
        times = {"p99_ms": at(found, 0.99), "p999_ms": at(found, 0.999), "max_ms": found[-1]}
        times |= {"health_p99_ms": at(health, 0.99)}
        return json.dumps({"pings": len(self.millis), **times, "failures": self.failures[:20]})


def at(found: list[float], part: float) -> float:
    return found[min(len(found) - 1, int(len(found) * part))]


class Canary:
    def __init__(self, host: str, port: int, ops: int) -> None:
        self._place = (host, port)
        self._ops = (host, ops)
        self.period = Period()

    async def steady(self) -> None:
        while True:
            try:
                reader, writer = await self._connect()
                while True:
                    await self._ping(reader, writer)
                    await asyncio.sleep(PAUSE)
            except (OSError, EOFError, TimeoutError) as error:
                self.period.failures.append(f"a steady connection: {error!r}")
                await asyncio.sleep(0.5)

    async def fresh(self) -> None:
        while True:
            began = time.monotonic()
            try:
                reader, writer = await self._connect()
                await self._ping(reader, writer, began)
                writer.close()
            except (OSError, EOFError, TimeoutError) as error:
                self.period.failures.append(f"a new connection: {error!r}")
            await asyncio.sleep(NEW)

    async def healthy(self) -> None:
        while True:
            began = time.monotonic()
            try:
                reader, writer = await self._connect(self._ops)
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: edge\r\nConnection: close\r\n\r\n")
                async with asyncio.timeout(LATE):
                    answer = await reader.read()
                writer.close()
                if b" 200 OK" not in answer[:20]:
                    raise OSError(answer[:100])
                self.period.health.append((time.monotonic() - began) * 1000)
            except (OSError, EOFError, TimeoutError) as error:
                self.period.failures.append(f"/healthz: {error!r}")
            await asyncio.sleep(NEW)

    async def _connect(self, place: tuple[str, int] | None = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(LATE):
            return await asyncio.open_connection(*(place or self._place), local_addr=(SOURCE, 0))

    async def _ping(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, began: float | None = None
    ) -> None:
        began = began or time.monotonic()
        writer.write(b"ping")
        async with asyncio.timeout(LATE):
            await reader.readexactly(4)
        self.period.millis.append((time.monotonic() - began) * 1000)


async def main(place: str, ops: str) -> None:
    host, _, port = place.rpartition(":")
    canary = Canary(host, int(port), int(ops))
    loop = asyncio.get_running_loop()
    tasks = [asyncio.create_task(canary.steady()) for _ in range(STEADY)]
    tasks += [asyncio.create_task(canary.fresh()), asyncio.create_task(canary.healthy())]
    while await loop.run_in_executor(None, sys.stdin.readline):
        period, canary.period = canary.period, Period()
        sys.stdout.write(period.told() + "\n")
        sys.stdout.flush()
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
