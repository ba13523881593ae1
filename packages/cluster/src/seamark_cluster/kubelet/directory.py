"""The kubelet's own directory: removed at its end, or by the next kubelet after a crash."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from seamark_cluster.real.process import locked

PREFIX = "seamark-kubelet-"
LOCK = "kubelet.lock"


class Directory:
    """A directory for Pods' files and logs, readable by its owner only.

    - It is in use exactly while its lock is held; the kernel releases the lock however the process ends.
    - Creating one removes those that are not in use: Secrets do not stay on the disk after a crash.
    """

    def __init__(self, base: Path | None = None) -> None:
        base = base or Path(tempfile.gettempdir())
        sweep(base)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def sweep(base: Path) -> None:
    for path in base.glob(f"{PREFIX}*"):
        lock = path / LOCK
        if lock.exists() and path.stat().st_uid == os.getuid() and not locked(lock):
            shutil.rmtree(path, ignore_errors=True)
