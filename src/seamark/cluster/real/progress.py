"""Telling a waiting person what is going on."""

from __future__ import annotations

import sys
import time
from typing import Protocol, TextIO

QUIET = 15.0  # seconds between two lines about the same step


class Progress(Protocol):
    """Is told, as often as there is something to tell, what is being done and how much of it (0 to 1) is."""

    def __call__(self, step: str, done: float | None = None) -> None: ...


class Lines:
    """Progress as plain lines, for logs: one when a step begins, and a further one only after a while."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._step = ""
        self._said = 0.0

    def __call__(self, step: str, done: float | None = None) -> None:
        now = time.monotonic()
        if step == self._step and now - self._said < QUIET:
            return
        self._step, self._said = step, now
        share = "" if done is None else f" {done:.0%}"
        self._out.write(f"{step}{share}\n")
        self._out.flush()
