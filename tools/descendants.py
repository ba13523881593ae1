"""The processes that this one has started, directly or not: none of them outlives it.

A test that is interrupted or killed leaves servers behind whose parent is gone. This process becomes the parent of such
orphans (`PR_SET_CHILD_SUBREAPER`, Linux only), so that they can be found and ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

PR_SET_CHILD_SUBREAPER = 36
GRACE = 10.0  # seconds between SIGTERM and SIGKILL
STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait(process: subprocess.Popen[bytes]) -> int:
    """The exit code of a child. Orphans that end meanwhile are reaped: otherwise they would look alive to a test."""
    while True:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        if ended is None or ended.si_pid == process.pid:
            return process.wait()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(ended.si_pid, 0)


def interrupt_once() -> None:
    """The first stop signal raises `KeyboardInterrupt`; later ones are ignored, for all is being ended."""
    for number in STOP:
        signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    _ignore_stop()
    raise KeyboardInterrupt


def _ignore_stop() -> None:
    for number in STOP:
        signal.signal(number, signal.SIG_IGN)


def end_all(grace: float = GRACE) -> list[str]:
    """Ends all descendants, those too that they start meanwhile, and returns their command lines.

    Not while a child is waited for. Stop signals are ignored from now on.
    """
    _ignore_stop()
    found: dict[int, str] = {}
    kill = time.monotonic() + grace
    while time.monotonic() < kill + grace and (left := _left()):
        late = time.monotonic() > kill
        for pid in left if late else left.keys() - found.keys():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        found |= left
        time.sleep(0.05)
    return list(found.values())


def _left() -> dict[int, str]:
    """The descendants, after those that have ended were reaped."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return dict(descendants(os.getpid()))


def descendants(parent: int) -> Iterator[tuple[int, str]]:
    """Process ids and command lines, without those that have ended."""
    for tasks in Path(f"/proc/{parent}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for text in tasks.read_text().split():
                pid = int(text)
                yield from descendants(pid)
                if command := _command(pid):
                    yield pid, command


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""
