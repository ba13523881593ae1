"""A progress bar that needs no package: it is what runs while packages are being installed."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

WIDTH = 24
QUIET = 15.0  # seconds between two lines about the same step, where lines can't be overwritten


class Bar:
    """Shows one step at a time: as a bar on a terminal, as plain lines elsewhere."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._live = self._out.isatty()
        self._step = ""
        self._said = 0.0

    def show(self, step: str, done: float, detail: str = "") -> None:
        """`done` goes from 0 to 1; `detail` is what is being worked on just now."""
        done = max(0.0, min(done, 1.0))
        if self._live:
            full = round(done * WIDTH)
            line = f"{step} [{'#' * full}{'.' * (WIDTH - full)}] {done:4.0%} {detail}"
            self._out.write("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1])
        elif step != self._step or time.monotonic() - self._said > QUIET:
            self._out.write(f"{step} {done:.0%} {detail}".rstrip() + "\n")
            self._said = time.monotonic()
        self._step = step
        self._out.flush()

    def finish(self, text: str) -> None:
        """The step is over; prints a line that stays."""
        self._out.write(("\r\x1b[K" if self._live else "") + text + "\n")
        self._out.flush()
        self._step = ""
