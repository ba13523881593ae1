"""Ports that no other control plane on this machine will take."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from types import TracebackType

from seamark_runtime.errors import UserError

# Below the ephemeral range (32768) of outgoing connections, and below Kubernetes' NodePorts (30000).
FIRST, LAST = 18000, 29999


class Ports:
    """Ports reserved for one control plane.

    - A port is reserved by a lock file that this process holds; processes it starts hold it too when given `fds`, so
      that a reservation outlives this process for as long as a server uses it.
    - When it was reserved, nothing listened on the port at the requested address.
    - `close` releases what no started process holds.
    """

    def __init__(self, address: str, directory: Path | None = None) -> None:
        self.address = address
        self._directory = directory or Path(tempfile.gettempdir()) / f"seamark-ports-{os.getuid()}"
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._held: dict[int, int] = {}

    @property
    def fds(self) -> tuple[int, ...]:
        return tuple(self._held.values())

    def reserve(self) -> int:
        candidates = list(range(FIRST, LAST + 1))
        random.shuffle(candidates)
        for port in candidates:
            if self._take(port):
                return port
        raise UserError(f"no free port between {FIRST} and {LAST} on {self.address}", hint="stop what uses them")

    def _take(self, port: int) -> bool:
        fd = os.open(self._directory / f"{port}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        if not free(self.address, port):
            os.close(fd)
            return False
        self._held[port] = fd
        return True

    def close(self) -> None:
        for fd in self._held.values():
            os.close(fd)
        self._held.clear()

    def __enter__(self) -> Ports:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def free(address: str, port: int) -> bool:
    """Whether a server could listen there now."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a server can use a port in TIME_WAIT
        try:
            probe.bind((address, port))
        except PermissionError:
            return False
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise UserError(
                f"can't listen on {address}", hint=f"choose an address of this machine ({error.strerror})"
            ) from error
    return True
