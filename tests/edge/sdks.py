"""The official SDKs, each in an environment of its own below the user's cache, made once."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.golang import go

HERE = Path(__file__).parent
PYTHON_SDK = ("ngrok", "1.4.0")
REST_CLIENT = ("ngrok-api", "0.19.0")


def built() -> None:
    """All of them. Some tests that use them run in a network from which nothing can be fetched."""
    python_of(*PYTHON_SDK)
    python_of(*REST_CLIENT)
    go_agent()


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    path = (Path(base) if base else Path.home() / ".cache") / "seamark" / "sdk"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def only_one(name: str) -> Iterator[None]:
    """Workers of one test run share the cache."""
    with (cache() / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def python_of(package: str, version: str) -> Path:
    """The interpreter of an environment that holds this package and nothing of ours."""
    home = cache() / f"{package}-{version}"
    python = home / "bin" / "python"
    with only_one(package):
        if not (home / "complete").exists():
            shutil.rmtree(home, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            subprocess.run([str(python), "-m", "pip", "install", "-q", f"{package}=={version}"], check=True)
            (home / "complete").touch()
    return python


def go_agent() -> Path:
    """The test agent on the Go SDK, built from its source as it is now."""
    source = HERE / "go-agent"
    mark = hashlib.sha256(b"".join((source / name).read_bytes() for name in ("main.go", "go.mod", "go.sum")))
    binary = cache() / f"go-agent-{mark.hexdigest()[:16]}"
    with only_one("go-agent"):
        if not binary.exists():
            part = binary.with_suffix(".part")
            go(source, "build", "-o", str(part), ".")
            part.rename(binary)
    return binary


class AgentProgram:
    """A program that takes commands as JSON lines and answers each with one."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"op": op, **fields}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the agent program ended at {op}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def must(self, op: str, **fields: Any) -> dict[str, Any]:
        answer = self.ask(op, **fields)
        assert "error" not in answer, answer
        return answer

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def start_agent(sdk: str) -> AgentProgram:
    if sdk == "go":
        return AgentProgram(str(go_agent()))
    if sdk == "python":
        return AgentProgram(str(python_of(*PYTHON_SDK)), str(HERE / "python_agent.py"))
    return AgentProgram(sys.executable, str(HERE / "seamark_agent.py"))
