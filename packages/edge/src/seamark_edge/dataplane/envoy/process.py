"""One process of Envoy. The event loop neither reads what it writes nor waits in the kernel for it.

- What it writes goes to a file that is emptied when it is large: a tenant decides how much Envoy has to report, and
  reading a line of any length from a pipe would be work of the loop.
- It is started, and reaped when it has ended, in a thread: the kernel may take a second for either on a busy machine.
- It ends with the thread that started it, so that none is left when this process is killed: `Starter` has one thread
  for all, which lives until `close`. One that is to outlive this process is in a session of its own instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MOST_OUTPUT = 256 * 1024  # bytes of the file, above which it is emptied
LOOK = 5.0  # seconds between two looks at its size
TAIL = 4096  # bytes of which the last line is shown
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
_NOT_REAPED: set[subprocess.Popen[bytes]] = set()  # those that run: what is left by us, or by a cancelled task, too


class Starter:
    """Starts processes in one thread."""

    def __init__(self, *, outliving: bool = False) -> None:
        self._outliving = outliving
        self._thread = ThreadPoolExecutor(1, "envoys")

    async def start(self, command: Sequence[str], output: Path) -> Child:
        loop = asyncio.get_running_loop()
        starting = loop.run_in_executor(self._thread, _start, command, output, self._outliving)
        try:
            return Child(await asyncio.shield(starting), output)
        except asyncio.CancelledError:  # it may run already
            with contextlib.suppress(OSError):
                await Child(await starting, output).stop(0)
            raise

    def close(self) -> None:
        """Every process that is left ends, unless it is to outlive us."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _start(command: Sequence[str], output: Path, outliving: bool) -> subprocess.Popen[bytes]:
    with output.open("ab") as file:
        return subprocess.Popen(  # noqa: S603  # the program of the installation
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=outliving,  # a terminal's Ctrl-C does not end it
            preexec_fn=None if outliving else _end_with_us,  # noqa: PLW1509  # one system call, which takes no lock
        )


def _end_with_us() -> None:
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Process(ABC):
    def __init__(self, output: Path) -> None:
        self._output = output

    @property
    @abstractmethod
    def over(self) -> bool:
        """Whether its end is known."""

    @abstractmethod
    def leave(self) -> None:
        """It runs on without us."""

    @abstractmethod
    def _signal(self, number: signal.Signals) -> None: ...

    @abstractmethod
    async def _ended(self) -> None: ...

    async def wait(self) -> None:
        """Returns when it has ended. Meanwhile its output is kept within its limit."""
        ended = asyncio.ensure_future(self._ended())
        try:
            while not ended.done():
                await asyncio.wait((ended,), timeout=LOOK)
                with contextlib.suppress(OSError):
                    if self._output.stat().st_size > MOST_OUTPUT:
                        os.truncate(self._output, 0)  # it appends, so it goes on at the start
        finally:
            ended.cancel()
        await ended

    async def stop(self, grace: float) -> None:
        """Ends it, by force after `grace` seconds."""
        if self.over:
            return
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace):
                await self._ended()
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await self._ended()

    def last_line(self) -> str:
        """What it wrote last."""
        try:
            with self._output.open("rb") as file:
                file.seek(max(0, self._output.stat().st_size - TAIL))
                lines = file.read(TAIL).decode(errors="replace").splitlines()
        except OSError:
            return ""
        return next((line for line in reversed(lines) if line.strip()), "")


class Child(Process):
    """A process that we have started, and reap."""

    def __init__(self, popen: subprocess.Popen[bytes], output: Path) -> None:
        super().__init__(output)
        self._popen = popen
        _NOT_REAPED.add(popen)

    @property
    def over(self) -> bool:
        return self._popen.returncode is not None

    def leave(self) -> None:
        """It stays in `_NOT_REAPED`."""

    def _signal(self, number: signal.Signals) -> None:
        """Popen's own way would reap it here."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._popen.pid, number)

    async def _ended(self) -> None:
        if self._popen.returncode is None:
            if hasattr(os, "pidfd_open"):  # else the thread waits
                with contextlib.suppress(ProcessLookupError):
                    await _exited(os.pidfd_open(self._popen.pid))
            await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self._popen.wait)))
        _NOT_REAPED.discard(self._popen)


class Adopted(Process):
    """A process that another one has started. Its handle is of this very process: a reused pid is never signalled."""

    def __init__(self, handle: int, output: Path) -> None:
        super().__init__(output)
        self._handle = handle

    @classmethod
    def running(cls, pid: int, output: Path, is_it: Callable[[int], bool]) -> Adopted | None:
        """This process, if it runs and is the one that is looked for."""
        if not is_it(pid):
            return None
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            return None
        if not is_it(pid):  # it may have ended, and its number been reused, before we had the handle
            os.close(handle)
            return None
        return cls(handle, output)

    @property
    def over(self) -> bool:
        return self._handle < 0

    def leave(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, number)

    async def _ended(self) -> None:
        if not self.over:
            await _exited(os.dup(self._handle))
            self.leave()


async def _exited(handle: int) -> None:
    """Returns when the process has ended; it is not reaped. The handle is closed."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    try:
        loop.add_reader(handle, ended.set)
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
