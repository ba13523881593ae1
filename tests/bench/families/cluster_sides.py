"""The two clusters under measurement, each in processes of its own, and a client that is the same for both."""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import yaml

from seamark_runtime.errors import SeamarkError

START = "from seamark.cli.main import main; main()"
IN_FLIGHT = 64
PATIENCE = 60.0


@dataclass(frozen=True)
class Served:
    """An embedded cluster that runs: how to reach it, its process, and how long it took to answer."""

    kubeconfig: Path
    pid: int
    seconds: float


@contextmanager
def embedded(*options: str) -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="seamark-bench-") as home:
        environment = {**os.environ, "XDG_STATE_HOME": home, "TMPDIR": home}
        command = [sys.executable, "-c", START, "cluster", "serve", *options]
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
        assert process.stdout is not None
        try:
            said = process.stdout.readline() + process.stdout.readline()
            if "export KUBECONFIG" not in said:
                raise SeamarkError(f"the embedded cluster did not start: {said}")
            path = Path(said.rsplit("export KUBECONFIG=", 1)[1].strip())
            yield Served(path, process.pid, time.monotonic() - began)
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return int(kib) / 1024


class Caller:
    """The first user of a kubeconfig, with warm connections."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self._url = url
        self._session = session

    async def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        data = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": content_type}
        async with self._session.request(method, self._url + path, data=data, headers=headers) as response:
            answer = await response.read()
            if response.status >= 300:
                raise SeamarkError(f"{method} {path} answered {response.status}: {answer[:300]!r}")
            return msgspec.json.decode(answer) if answer[:1] in (b"{", b"[") else answer

    async def warm(self, connections: int) -> None:
        """Opens so many connections, so that no measurement pays for their handshakes."""
        await asyncio.gather(*(self.ask("GET", "/readyz") for _ in range(connections)))


@asynccontextmanager
async def calling(kubeconfig: Path, connections: int = IN_FLIGHT) -> AsyncIterator[Caller]:
    document = yaml.safe_load(kubeconfig.read_text())
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    connector = aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context(cadata=authority), keepalive_timeout=90)
    headers = {"Authorization": f"Bearer {user['token']}", "User-Agent": "bench"}
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=timeout) as session:
        caller = Caller(cluster["server"], session)
        await caller.warm(connections)
        yield caller


async def each(names: Sequence[str], work: Callable[[str], Awaitable[Any]]) -> float:
    """Works on all names, so many at once as may be in flight; how many a second."""
    left = iter(names)

    async def worker() -> None:
        for name in left:
            await work(name)

    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for _ in range(min(IN_FLIGHT, len(names))):
            group.create_task(worker())
    return len(names) / (time.monotonic() - began)
