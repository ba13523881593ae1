"""The cluster that the folders run on: `seamark dev` as a program of its own, and how it is asked."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamark_runtime.api.meta import Object
from seamark_runtime.connection import connect
from seamark_runtime.http import HttpTransport
from seamark_runtime.transport import HttpRequest

START = 120.0  # seconds
MARKER = "export KUBECONFIG="
SEAMARK = str(Path(sys.executable).with_name("seamark"))
EMPTY = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "score-files"}}


def free_port() -> int:
    """For the name server of this run, beside others on this machine; below the ports of outgoing connections."""
    for port in range(20500, 21000):
        with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagrams, suppress(OSError):
            for each in (stream, datagrams):
                each.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port of 20500 to 20999 is free")


@dataclass(frozen=True)
class Ran:
    """A program that has ended."""

    code: int
    out: bytes
    errors: str


@dataclass
class Cluster:
    """Asked by `kubectl` and `seamark`, as a user does. `places` bounds how many of them run at once."""

    kubeconfig: str
    log: Path
    transport: HttpTransport
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))

    async def run(
        self, *command: str, folder: Path | None = None, environment: Mapping[str, str] | None = None, text: str = ""
    ) -> Ran:
        known = {**os.environ, "KUBECONFIG": self.kubeconfig, **(environment or {})}
        pipe = asyncio.subprocess.PIPE
        async with self.places:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=folder, env=known, stdin=pipe, stdout=pipe, stderr=pipe
            )
            try:
                async with asyncio.timeout(120):
                    out, errors = await process.communicate(text.encode())
            except TimeoutError:
                process.kill()
                await process.wait()
                return Ran(124, b"", f"{command[0]} took more than two minutes")
        return Ran(process.returncode or 0, out, errors.decode(errors="replace"))

    async def kubectl(self, namespace: str, *arguments: str, text: str = "", folder: Path | None = None) -> Ran:
        return await self.run("kubectl", "-n", namespace, *arguments, text=text, folder=folder)

    async def get(self, namespace: str, kind: str, name: str = "", *arguments: str) -> Any:
        """An object, None if it is not there; or without a name the list of all."""
        named = (name,) if name else ()
        ran = await self.kubectl(namespace, "get", kind, *named, "--ignore-not-found", "-o", "json", *arguments)
        found = json.loads(ran.out) if ran.code == 0 and ran.out.strip() else None
        return found if name else (found or {}).get("items", [])

    async def all(self, namespace: str, kind: type[Object]) -> list[Any]:
        """Read by the API itself, as it is read often."""
        answer = await self.transport.send(HttpRequest("GET", kind.RESOURCE.path(namespace)))
        found: list[Any] = json.loads(answer.body)["items"] if answer.status == 200 else []
        return found

    async def execute(self, namespace: str, pod: str, container: str, command: Sequence[str]) -> Ran:
        return await self.kubectl(namespace, "exec", pod, "-c", container, "--", *command)


@asynccontextmanager
async def cluster(places: int) -> AsyncIterator[Cluster]:
    """Runs from here on; its processes end with it."""
    with tempfile.TemporaryDirectory(prefix="score-files-") as name:
        folder = Path(name)
        (folder / "examples" / "start").mkdir(parents=True)
        (folder / "examples" / "start" / "namespace.yaml").write_text(json.dumps(EMPTY))
        log = folder / "dev.log"
        with log.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                *(SEAMARK, "dev", "--network", "auto", "--examples", str(folder / "examples")),
                stdout=out,
                stderr=out,
                env={**os.environ, "COLUMNS": "200", "SEAMARK_DNS_MEMORY_ADDRESS": f"127.0.0.1:{free_port()}"},
                start_new_session=True,
            )
        try:
            kubeconfig = await _kubeconfig(process, log)
            transport = await HttpTransport(connect(kubeconfig)).open()
            try:
                yield Cluster(kubeconfig, log, transport, asyncio.Semaphore(places))
            finally:
                await transport.close()
        finally:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(20):
                    await process.wait()
            except TimeoutError:
                os.killpg(process.pid, signal.SIGKILL)


async def _kubeconfig(process: asyncio.subprocess.Process, log: Path) -> str:
    async with asyncio.timeout(START):
        while process.returncode is None:
            text = log.read_text(errors="replace")
            if MARKER in text and "\n" in (line := text.partition(MARKER)[2]):
                return line.split()[0]
            await asyncio.sleep(0.2)
    raise RuntimeError(f"seamark dev has ended: {log.read_text(errors='replace')[-2000:]}")
