"""The harness's side of the operator under measurement."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.errors import SeamarkError
from tests.bench.subject import Report

ROOT = Path(__file__).parents[2]
USER = "operator"
READY_WITHIN = 300.0
QUIET = 0.5  # seconds without a key in a worker that count as rest
POLL = 0.05


class OperatorProcess:
    """A running operator. `started` is when its process was, on the monotonic clock."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log
        self.started = time.monotonic()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def report(self) -> Report:
        return await self._ask("report")

    async def reset(self) -> Report:
        """Starts the measurement of lags anew; the report is the state of before."""
        return await self._ask("reset")

    async def quiet(self, seconds: float = READY_WITHIN, least: float = QUIET) -> Report:
        """The report once it has been quiet for a moment; its sources have all synced by then."""
        deadline = time.monotonic() + seconds
        while True:
            report = await self.report()
            if report.quiet_since is not None and time.monotonic() - report.quiet_since >= least:
                return report
            if time.monotonic() > deadline:
                raise SeamarkError(f"the operator was not quiet within {seconds:g} s; it says: {self._last_words()}")
            await asyncio.sleep(POLL)

    async def remain(self, seconds: float) -> None:
        """Lets time pass. The operator must live on."""
        await asyncio.sleep(seconds)
        await self.report()

    async def stop(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(15):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def words(self) -> list[str]:
        """What it logged: warnings and errors, a line each."""
        return self._log.read_text(errors="replace").splitlines()

    async def _ask(self, command: str) -> Report:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise SeamarkError("the operator was started without pipes")
        try:
            stdin.write(f"{command}\n".encode())
            await stdin.drain()
            answer = await stdout.readline()
        except ConnectionError:
            answer = b""
        if not answer:
            raise SeamarkError(f"the operator died; its last words: {self._last_words()}")
        return msgspec.json.decode(answer, type=Report)

    def _last_words(self) -> str:
        return "\n".join(self.words()[-5:]) or "nothing"


@asynccontextmanager
async def operator(plane: ControlPlane, family: str) -> AsyncIterator[OperatorProcess]:
    """An operator that was started, and is stopped at the end. It may not be ready yet."""
    log = plane.directory / "operator.log"
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.bench.subject", family, str(plane.kubeconfig_of(USER))),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            cwd=ROOT,
        )
    running = OperatorProcess(process, log)
    try:
        yield running
    finally:
        await running.stop()
