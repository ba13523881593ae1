"""A small process that ends a control plane whose own process died without doing so.

Run as `python -m seamark.cluster.real.warden DIRECTORY`: it waits for the end of its standard input, which the kernel
closes when the parent is gone, however it went.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import seamark
from seamark.cluster.real.process import Component

DISMISSED = b"."


class Warden:
    """Watches over one directory, in a process of its own.

    - When the process that made it ends without `dismiss`, the components there are killed, the directory is removed.
    - It makes no noise and needs no signal: the end of a pipe tells it.
    """

    def __init__(self, directory: Path) -> None:
        source = str(Path(seamark.__file__).parent.parent)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": source},
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """All is well: nothing is left to look after."""
        self._process.communicate(DISMISSED)


def sweep(directory: Path) -> None:
    """Ends whatever still runs there, and removes the directory."""
    for lock in directory.glob("*.lock"):
        Component(directory, [lock.stem]).kill()
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    if sys.stdin.buffer.read() != DISMISSED:
        sweep(Path(sys.argv[1]))
