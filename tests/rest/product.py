"""The product as `make run` starts it, and what its processes use."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

COMMAND = (".venv/bin/seamark", "dev")
TICK = os.sysconf("SC_CLK_TCK")
STARTS, ENDS = 120.0, 30.0  # seconds
KUBECONFIG = re.compile(r"export KUBECONFIG=(\S+)")
TABLE = "object or check"  # its first head
NOT_YET = re.compile(r"^.*\S\s+not yet\b.*$", re.MULTILINE)  # a row of the table that is printed at the end


class Product:
    """Contract: `start` returns when the API server answers; `stop` returns what was not ready at the end."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "dev.log"
        self._process: subprocess.Popen[bytes]

    def start(self) -> Path:
        """The kubeconfig."""
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(COMMAND, stdout=out, stderr=out, env={**os.environ, "COLUMNS": "300"})
        deadline = time.monotonic() + STARTS
        while (found := KUBECONFIG.search(self.log.read_text())) is None:
            if not self.alive or time.monotonic() > deadline:
                raise RuntimeError(f"`seamark dev` does not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.1)
        return Path(found[1])

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def cpu(self) -> dict[str, float]:
        """Seconds of CPU by process: the operator's, and each of its children's."""
        pid = self._process.pid
        return {"operator": cpu_of(pid), **{f"{name} ({child})": cpu_of(child) for child, name in children(pid)}}

    def stop(self) -> tuple[str, ...]:
        if self.alive:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(ENDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return ("`seamark dev` does not end",)
        return left(self.log.read_text())


def left(text: str) -> tuple[str, ...]:
    """Examples that were skipped, and rows of the table that were not ready when it was printed last."""
    if TABLE not in text:
        return ("the table of the examples was not printed",)
    skipped = re.findall(r"^skipping example .*$", text, re.MULTILINE)
    return (*skipped, *(" ".join(row.split()) for row in NOT_YET.findall(text)))


def stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name; empty when the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def cpu_of(pid: int) -> float:
    fields = stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICK if fields else 0.0


def children(parent: int) -> list[tuple[int, str]]:
    """Child processes, each with its program."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := stat(int(entry.name))) and int(fields[1]) == parent:
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            found.append((int(entry.name), " ".join(words)[:60].strip()))
    return sorted(found)
