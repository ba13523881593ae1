"""A shell in which a page is followed: one for all its commands, so that what one exports the next one has.

- A command that goes on (an operator, an edge, a console) is left running, and ends with the shell.
- A question is asked again until its answer is as the page shows it, or the patience is over.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from seamark_cluster.real.binaries import cache_root, find
from tests.docs.reading import Command

PATIENCE = 240.0  # Helm waits for Pods
GOES_ON = re.compile(
    r"^(\w+=\S+ )*seamark (run|edge|agent|console|watch|dev|forwarder|cluster serve|cluster kubelet|dns webhook"
    r"|dns run(?!.*--(once|dry-run)))\b(?!.*--check)|&$|kubectl port-forward"
)
QUESTION = re.compile(
    r"^(kubectl (get|wait|describe|logs|rollout status|auth)|kubectl seamark|curl|dig|seamark (explain|status))\b"
)
UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LOOSE = re.compile(rf"(…|\.{{3}}|{UID.pattern}|\b(?:\d+[smhd])+\b|\d+(?:\.\d+)*|\s+)")
SEAMARK = f'#!/bin/sh\nexec "{sys.executable}" -c "from seamark.cli.main import main; main()" "$@"\n'


def without_comment(text: str) -> str:
    return re.sub(r"\s+#\s.*$", "", text)


class Shell:
    """Follows commands in a directory. `close` ends everything that they have started."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.directory = directory
        self._own = directory / ".shell"
        programs = self._own / "bin"
        programs.mkdir(parents=True)
        self._program(programs / "seamark", SEAMARK)
        self._program(programs / "kubectl-seamark", SEAMARK)
        (programs / "kubectl").symlink_to(find().kubectl)
        path = os.pathsep.join([str(programs), environment.get("PATH", os.environ["PATH"]), "/usr/sbin"])
        given = {"HOME": str(directory), "XDG_CACHE_HOME": str(cache_root().parent), "COLUMNS": "200"}
        given["SEAMARK_GATEWAY_STATE"] = "none"  # nothing that a page starts outlives it
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=directory,
            env={**os.environ, **given, **environment, "PATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._number = 0
        self._running = self._own / "running"
        self._running.touch()
        self._type(f"trap 'for each in $(cat {self._running}); do kill -TERM -- -$each; done' EXIT")

    @staticmethod
    def _program(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def follow(self, command: Command) -> None:
        """Runs it and compares what it says with what the page shows."""
        bare = without_comment(command.text)
        if GOES_ON.search(bare):
            self._leave_running(command, bare)
            return
        deadline = time.monotonic() + PATIENCE
        while True:
            code, said = self._run(command.text)
            wrong = f"exit code {code}" if code else difference(command.shown, said)
            if not wrong:
                return
            if not QUESTION.search(bare) or time.monotonic() > deadline:
                raise AssertionError(f"line {command.line}: $ {command.text}\n{wrong}\nIt said:\n{said}")
            time.sleep(0.3)

    def _run(self, text: str) -> tuple[int, str]:
        out, done = self._files()
        self._type(f"{{ {text}\n}} >{out} 2>&1 </dev/null; echo $? >{done}.part; mv {done}.part {done}")
        self._until(done.exists, f"$ {text}\nhas not ended; it said:", out)
        return int(done.read_text()), out.read_text(errors="replace")

    def _leave_running(self, command: Command, text: str) -> None:
        """Until its output is what the page shows, or anything; a time-out is reported in a line of ours."""
        out, _ = self._files()
        script = out.with_suffix(".sh")
        script.write_text(text.rstrip().removesuffix("&"))
        self._type(f'setsid bash -c "$(cat {script})" >{out} 2>&1 </dev/null & echo $! >>{self._running}')

        def speaks() -> bool:
            said = out.read_text(errors="replace") if out.exists() else ""
            assert "seamark: " not in said, f"line {command.line}: $ {text}\nended: {said}"
            return not difference(command.shown, said) and (bool(said) or "seamark" not in text)

        self._until(speaks, f"line {command.line}: $ {text}\nhas not said what is shown; it said:", out)

    def _files(self) -> tuple[Path, Path]:
        self._number += 1
        return self._own / f"{self._number}.out", self._own / f"{self._number}.done"

    def _type(self, text: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(text + "\n")
        self._shell.stdin.flush()

    def _until(self, condition: Callable[[], bool], what: str, out: Path) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            said = out.read_text(errors="replace") if out.exists() else ""
            assert self._shell.poll() is None, f"the shell ended: {what}\n{said}"
            assert time.monotonic() < deadline, f"{what}\n{said}"
            time.sleep(0.02)

    def close(self) -> None:
        """The shell ends what it has left running; a process that ignores it is killed. Nothing stays."""
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        self._shell.wait(60)
        for group in self._running.read_text().split():
            _until_gone(int(group))


def _until_gone(group: int) -> None:
    """What was left running is a session, and so a process group, of its own."""
    deadline = time.monotonic() + PATIENCE
    killed = False
    try:
        while True:
            os.killpg(group, signal.SIGKILL if killed else 0)
            killed = time.monotonic() > deadline
            time.sleep(0.05)
    except ProcessLookupError:
        assert not killed, "a command of the page did not end when it was asked to"


def difference(shown: tuple[str, ...], said: str) -> str:
    """The first line that the page shows and that did not come, in this order; empty if all did."""
    lines = iter(said.splitlines())
    for line in shown:
        pattern = loose(line)
        if not any(pattern.fullmatch(one.strip()) for one in lines):
            return f"the page shows a line that did not come: {line}"
    return ""


def loose(line: str) -> re.Pattern[str]:
    """Spaces, numbers, ages and what is made up may differ; `…` stands for anything."""
    return re.compile("".join(_loose(part) for part in LOOSE.split(line.strip()) if part))


def _loose(part: str) -> str:
    if part in ("…", "..."):
        return ".*"
    if part.isspace():
        return r"\s+"
    if UID.fullmatch(part):
        return UID.pattern
    if re.fullmatch(r"(\d+[smhd])+", part):
        return r"(\d+[smhd])+"
    return r"\d[\d.]*" if part[0].isdigit() else re.escape(part)
