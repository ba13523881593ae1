"""A program that the witness starts, freezes, kills and starts again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path


class Program:
    """One process with its log. Its environment can be changed between two starts."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.command = list(command)
        self.log = folder / f"{name}.log"
        self.environment = dict(environment)
        self.wanted = False
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.wanted and not self.alive

    def start(self) -> None:
        self.wanted = True
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                self.command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=self.environment
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        if self.alive:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.wanted = False
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def last_lines(self, count: int = 15) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-count:])


def eventually(condition: Callable[[], object], what: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(0.1)


def processes(matches: Callable[[list[str]], bool]) -> list[int]:
    """Processes whose arguments match; only those of the witness are to be seen."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                arguments = (entry / "cmdline").read_bytes().split(b"\0")[:-1]
                if arguments and matches([os.fsdecode(argument) for argument in arguments]):
                    found.append(int(entry.name))
    return sorted(found)


def send(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
