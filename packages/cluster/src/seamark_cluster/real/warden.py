"""A small process that ends a control plane whose own process ended without doing so.

Run as `python -m seamark_cluster.real.warden DIRECTORY`: it waits for the end of its standard input, which the kernel
closes when the parent process ends for any reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import seamark_cluster
import seamark_runtime
from seamark_cluster.real.process import Component

DISMISSED = b"."


class Warden:
    """Guards one directory, in a process of its own.

    - When the process that started it ends without `dismiss`, the components are killed and the directory is removed.
    - It needs no signal: the end of a pipe triggers it.
    """

    def __init__(self, directory: Path) -> None:
        sources = (str(Path(package.__path__[0]).parent) for package in (seamark_cluster, seamark_runtime))
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sources)},
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """Ends the guard: everything was stopped in order."""
        self._process.communicate(DISMISSED)


def sweep(directory: Path) -> None:
    """Ends whatever still runs there, and removes the directory."""
    for lock in directory.glob("*.lock"):
        Component(directory, [lock.stem]).kill()
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    if sys.stdin.buffer.read() != DISMISSED:
        sweep(Path(sys.argv[1]))
