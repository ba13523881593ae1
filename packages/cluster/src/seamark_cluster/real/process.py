"""One component of the control plane as a process that can be stopped, killed and started again."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from seamark_runtime.errors import SeamarkError

GRACE = 10.0  # seconds between SIGTERM and SIGKILL
POLL = 0.01

# Children of this process by id, until they end: only a parent can reap them, also those without a Component any more.
_children: dict[int, subprocess.Popen[bytes]] = {}


class Component:
    """A process that any later process can find again.

    - It is alive exactly while `<name>.lock` is held: the process itself holds the lock, so the kernel releases it at
      its end. A reused process id is never signalled.
    - Its output is appended to `<name>.log`; its process id is in `<name>.pid`.
    - It is started in a session of its own: Ctrl-C in a terminal does not reach it.
    - `stop` returns when it is gone, by force after a grace period. `kill` gives no grace. Both do nothing if it has
      ended.
    """

    def __init__(self, directory: Path, command: Sequence[str], fds: Callable[[], Sequence[int]] = tuple) -> None:
        """`fds` are inherited at each start, so that reservations last as long as the process."""
        name = Path(command[0]).name
        self.name = name
        self.command = tuple(command)
        self._fds = fds
        self.log = directory / f"{name}.log"
        self._lock = directory / f"{name}.lock"
        self._pid = directory / f"{name}.pid"

    @property
    def alive(self) -> bool:
        return locked(self._lock)

    @property
    def pid(self) -> int | None:
        return int(self._pid.read_text()) if self.alive else None

    def start(self) -> None:
        """Starts it; again as well, with the same command on the same data."""
        lock = self._take_lock()
        self._collect()
        try:
            with self.log.open("ab") as log:
                child = subprocess.Popen(
                    self.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    pass_fds=(lock, *self._fds()),
                    start_new_session=True,
                )
            _children[child.pid] = child
            self._pid.write_text(str(child.pid))
        finally:
            os.close(lock)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal; SIGSTOP and SIGCONT simulate a process that hangs."""
        if (pid := self.pid) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def terminate(self) -> None:
        """Sends SIGTERM, and does not wait."""
        self.signal(signal.SIGTERM)

    def stop(self, grace: float = GRACE) -> None:
        self.terminate()
        if not self.wait(grace):
            self.kill()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        if not self.wait(GRACE):
            raise SeamarkError(f"{self.name} (process {self.pid}) does not end, even after SIGKILL")

    def wait(self, seconds: float) -> bool:
        """Waits for its end; whether it ended in time."""
        deadline = time.monotonic() + seconds
        while self.alive:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL)
        self._collect()
        return True

    def log_tail(self, lines: int = 5) -> str:
        """The end of its log, for an error message."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _take_lock(self) -> int:
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + 0.5
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < deadline:  # another process may be testing the lock right now
                    time.sleep(POLL)
                    continue
                os.close(lock)
                raise SeamarkError(f"{self.name} already runs as process {self.pid}") from None
            return lock

    def _collect(self) -> None:
        """Reaps the process that had the lock before, if it was a child of this one."""
        if self._pid.exists() and (child := _children.pop(int(self._pid.read_text()), None)):
            child.wait(GRACE)


def locked(path: Path) -> bool:
    """Whether a running process holds the lock."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
