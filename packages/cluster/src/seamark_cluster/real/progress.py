"""Reporting progress to a user who waits."""

from __future__ import annotations

import sys
import time
from typing import Protocol, TextIO

QUIET = 15.0  # seconds between two lines about the same step


class Progress(Protocol):
    """Called with the current step and, if known, the share of it that is done (0 to 1)."""

    def __call__(self, step: str, done: float | None = None) -> None: ...


class Lines:
    """Progress as plain lines, for logs: one at the start of a step, and further ones at intervals."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._step = ""
        self._printed_at = 0.0

    def __call__(self, step: str, done: float | None = None) -> None:
        now = time.monotonic()
        if step == self._step and now - self._printed_at < QUIET:
            return
        self._step, self._printed_at = step, now
        share = "" if done is None else f" {done:.0%}"
        self._out.write(f"{step}{share}\n")
        self._out.flush()
