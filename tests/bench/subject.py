"""The operator under measurement, in a process of its own: `python -m tests.bench.subject FAMILY KUBECONFIG`.

- Its CPU and memory are its own: the harness lives elsewhere. It runs what `seamark run` runs, on the same loop.
- Commands come as lines on its input, answers go as JSON lines to its output: `report` and `reset`.
- It stops in good order when its input ends, so it never outlives the harness.
"""

from __future__ import annotations

import asyncio
import sys
import time
from random import Random

import msgspec
import uvloop

from seamark.cli.run import supervise
from seamark_runtime import log
from seamark_runtime.clock import SystemClock
from seamark_runtime.connection import connect
from seamark_runtime.http import HttpTransport
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from tests.bench import host
from tests.bench.scenario import find
from tests.bench.spread import percentile

PERIOD = 0.01


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The process as it is at this moment; lags are those since the last `reset`."""

    cpu: float  # seconds
    memory_mb: float
    peak_mb: float
    lag_p99_ms: float
    lag_max_ms: float
    held_max_ms: float
    quiet_since: float | None  # on the machine's monotonic clock, which all processes share
    cached: int


class Pulse:
    """A timer that notes how late it fires, and since when the operator has been quiet.

    - `lags` are wall time, so a machine that gives the process no core shows in them.
    - `held` is the part of a lag in which this thread itself was at work: no piece of work held the loop longer.
    """

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.lags: list[float] = []
        self.held = 0.0
        self.quiet_since: float | None = None

    def reset(self) -> None:
        self.lags.clear()
        self.held = 0.0

    async def run(self) -> None:
        while True:
            due, worked = time.monotonic() + PERIOD, time.thread_time()
            await asyncio.sleep(PERIOD)
            lag = max(0.0, time.monotonic() - due)
            self.lags.append(lag)
            self.held = max(self.held, min(lag, time.thread_time() - worked))
            if not self._operator.quiet:
                self.quiet_since = None
            elif self.quiet_since is None:
                self.quiet_since = time.monotonic()

    def report(self) -> Report:
        return Report(
            cpu=time.process_time(),
            memory_mb=host.memory_mb(),
            peak_mb=host.peak_mb(),
            lag_p99_ms=1000 * percentile(self.lags, 0.99),
            lag_max_ms=1000 * max(self.lags, default=0.0),
            held_max_ms=1000 * self.held,
            quiet_since=self.quiet_since,
            cached=sum(len(informer.cache) for informer in self._operator.informers.values()),
        )


async def obey(pulse: Pulse) -> None:
    """Carries out commands until the input ends."""
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin.buffer)
    while command := await commands.readline():
        if command.strip() == b"reset":
            pulse.reset()
        sys.stdout.buffer.write(msgspec.json.encode(pulse.report()) + b"\n")
        sys.stdout.buffer.flush()


async def serve(family: str, kubeconfig: str) -> None:
    log.configure("warning")
    settings = Settings(health_address="")
    transport = await HttpTransport(connect(kubeconfig), limit=settings.workers).open()
    operator = Operator(World(transport, SystemClock(), Random(), "bench"), find(family).controllers(), settings)
    pulse = Pulse(operator)
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(supervise(operator, settings)), loop.create_task(pulse.run())]
    commands = loop.create_task(obey(pulse))
    try:
        await asyncio.wait([*tasks, commands], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()  # raises what ended it
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await transport.close()


if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:]))
