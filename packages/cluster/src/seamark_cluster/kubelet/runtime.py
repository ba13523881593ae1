"""Containers as processes; or, for scale tests, without any."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from seamark_cluster.kubelet.logs import LogWriter
from seamark_cluster.network import namespaces
from seamark_cluster.network.pods import Place
from seamark_runtime.clock import Clock
from seamark_runtime.errors import UserError

LAUNCHER = str(Path(__file__).with_name("launch.py"))
STREAMS = {1: "stdout", 2: "stderr"}
KEPT_OUTPUT = 10_240  # bytes of a probe command's output


@dataclass(frozen=True)
class Mount:
    source: Path
    target: str
    read_only: bool = False


@dataclass(frozen=True)
class Launch:
    """Everything that a container's process needs to start."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(repr=False)
    cwd: str
    place: Place
    mounts: Sequence[Mount]
    staging: Path
    log: Path
    stdin: bool = False  # whether it accepts input


class Running(Protocol):
    """A started container. `exited` returns its exit code, or minus the number of the signal that ended it."""

    pid: int
    exited: asyncio.Future[int]
    input: asyncio.WriteTransport | None  # its standard input, if it has one

    def signal(self, number: int) -> None: ...


class Runtime(Protocol):
    processes: bool  # whether there is anything to probe, to write files for, and to look an image up for

    async def start(self, launch: Launch) -> Running: ...

    async def execute(self, launch: Launch, timeout: float) -> tuple[int, str]: ...

    async def open(self, launch: Launch) -> asyncio.subprocess.Process: ...


class ProcessRuntime:
    """Starts programs of this machine.

    - Each is the leader of a session of its own; a signal goes to that session's first process group.
    - None outlives this process.
    """

    processes = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def start(self, launch: Launch) -> Running:
        log = LogWriter(launch.log, self._clock)
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.subprocess_exec(
            lambda: _Output(log),
            *_command(launch),
            stdin=asyncio.subprocess.PIPE if launch.stdin else None,
            env=dict(launch.env),
            start_new_session=True,
        )
        return _Process(transport, protocol)

    async def execute(self, launch: Launch, timeout: float) -> tuple[int, str]:
        """Runs a command beside the container, in its environment; returns its output and exit code."""
        process = await asyncio.create_subprocess_exec(
            *_command(launch),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=dict(launch.env),
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(timeout):
                output, _ = await process.communicate()
        except TimeoutError:
            return -signal.SIGKILL, f"command timed out after {timeout:g} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        return process.returncode or 0, output[:KEPT_OUTPUT].decode(errors="replace").strip()

    async def open(self, launch: Launch) -> asyncio.subprocess.Process:
        """Starts a command beside the container, in its environment; the caller reads and ends it."""
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *_command(launch),
            stdin=pipe if launch.stdin else asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            env=dict(launch.env),
            start_new_session=True,
        )


class _Output(asyncio.SubprocessProtocol):
    def __init__(self, log: LogWriter) -> None:
        self._log = log
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._log.write(STREAMS[fd], data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._log.end(STREAMS.get(fd, ""))

    def process_exited(self) -> None:
        assert self._transport is not None
        if not self.exited.done():
            self.exited.set_result(self._transport.get_returncode() or 0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._log.close()


class _Process:
    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Output) -> None:
        self.pid = transport.get_pid()
        self.exited = protocol.exited
        self.input = cast("asyncio.WriteTransport | None", transport.get_pipe_transport(0))
        self._transport = transport
        self.exited.add_done_callback(self._ended)

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _ended(self, _: Any) -> None:
        with contextlib.suppress(ProcessLookupError):  # its remaining children end with the container
            os.killpg(self.pid, signal.SIGKILL)


class StubRuntime:
    """Containers without processes: they run at once and end on request. A thousand of them cost almost nothing."""

    processes = False

    async def start(self, launch: Launch) -> Running:
        return _Stub()

    async def execute(self, launch: Launch, timeout: float) -> tuple[int, str]:
        return 0, ""

    async def open(self, launch: Launch) -> asyncio.subprocess.Process:
        raise UserError("Pods of this node have no processes")


class _Stub:
    def __init__(self) -> None:
        self.pid = 0
        self.input: asyncio.WriteTransport | None = None
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def signal(self, number: int) -> None:
        if not self.exited.done():
            self.exited.set_result(-number)


def kept(argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The directories of this machine that contain a program: no volume of a Pod may cover them."""
    program = Path(argv[0]).parent if argv else Path()
    imported = map(Path, env.get("PYTHONPATH", "").split(os.pathsep))
    found = {Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2], program, *imported}
    return sorted(str(path) for path in found if path.is_absolute() and path.is_dir())


def _command(launch: Launch) -> list[str]:
    place = launch.place
    plan = {
        "argv": list(launch.argv),
        "cwd": launch.cwd,
        "network": "" if place.namespace is None else namespaces.path(place.namespace),
        "mounts": [[str(mount.source), mount.target, mount.read_only] for mount in launch.mounts],
        "kept": kept(launch.argv, launch.env),
        "staging": str(launch.staging),
    }
    return [sys.executable, "-I", "-S", LAUNCHER, json.dumps(plan)]
