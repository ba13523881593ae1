"""Seamark's programs as processes of their own, and what can be seen of them from outside."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.host import MB, PAGE

FAILED = re.compile(r"Traceback \(most recent|never retrieved|this is a bug")
CASE = re.compile(r"\bh-\d+(?:-\d+)?\b")


@dataclass
class Program:
    """A command, its log, and its process. `start` again continues the log."""

    name: str
    command: list[str]
    environment: Mapping[str, str]
    log: Path
    metrics: str = ""  # HOST:PORT of its /metrics
    process: subprocess.Popen[bytes] | None = None
    _read: int = field(default=0)

    def start(self) -> None:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command, stdout=out, stderr=out, env={**os.environ, **self.environment}
            )

    @property
    def ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    @property
    def rss_mb(self) -> float:
        return 0.0 if self.process is None else rss_mb(self.process.pid)

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def failures(self) -> list[Failure]:
        """Errors with a traceback since the last look."""
        with self.log.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        return failures(self.name, whole.decode(errors="replace"))


@dataclass(frozen=True)
class Failure:
    """A traceback in a program's log, and the cases that its line names."""

    program: str
    words: str
    cases: frozenset[str]


def failures(program: str, text: str) -> list[Failure]:
    """One for each line of the log that has an exception; lines of a bare traceback count once."""
    found = []
    for line in text.splitlines():
        words = _exception(line)
        if words:
            found.append(Failure(program, words, frozenset(CASE.findall(line))))
    return found


def _exception(line: str) -> str:
    if line.startswith("{"):
        try:
            entry = json.loads(line)
        except ValueError:
            return ""
        if "exception" not in entry:
            return ""
        last = str(entry["exception"]).strip().splitlines()[-1:]
        return f"{entry.get('event', '')}: {' '.join(last)}"[:300]
    return line.strip()[:300] if FAILED.search(line) else ""


def rss_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / MB
    except (OSError, IndexError):
        return 0.0


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


# ---- metrics


@dataclass(frozen=True)
class Loop:
    """What a process says of its event loop: for how long it was held, in ms; None if it does not measure that."""

    block_ms: float | None = None
    crashed: float = 0.0  # reconciles that ended with an exception


GAUGE = re.compile(r"^seamark_loop_longest_block_seconds ([0-9.e+-]+)$", re.MULTILINE)
CRASHED = re.compile(r'^seamark_reconcile_outcomes_total\{[^}]*outcome="crashed"[^}]*\} ([0-9.e+]+)$', re.MULTILINE)


def loop_of(text: str) -> Loop:
    """From the text of /metrics."""
    found = GAUGE.search(text)
    return Loop(float(found[1]) * 1000 if found else None, sum(map(float, CRASHED.findall(text))))


def scraped(address: str, timeout: float = 3.0) -> str:
    """The text of /metrics; empty when there is no response in time."""
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=timeout) as answer:
            text: str = answer.read().decode()
            return text
    except OSError:
        return ""
