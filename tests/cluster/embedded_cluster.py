"""The embedded cluster on a loop in a thread of its own, with kubectl at hand."""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvloop

from seamark_cluster.real.binaries import find
from seamark_cluster.real.users import User
from seamark_cluster.server.cluster import ClusterSettings, EmbeddedCluster

V = TypeVar("V")
USERS = (User("alice"), User("bob", ("developers",)))


class Running:
    def __init__(self, directory: Path, settings: ClusterSettings) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        began = time.monotonic()
        try:
            self.cluster = self.do(self._made(directory, settings))
            self.do(self.cluster.start())
        except BaseException:
            self._end_loop()
            raise
        self.start_seconds = time.monotonic() - began

    async def _made(self, directory: Path, settings: ClusterSettings) -> EmbeddedCluster:
        return EmbeddedCluster(directory, settings)

    def do(self, work: Coroutine[Any, Any, V], seconds: float = 60) -> V:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def kubectl(
        self, *arguments: str, stdin: str = "", user: str = "admin", binary: str = ""
    ) -> subprocess.CompletedProcess[str]:
        kubectl = binary or str(find().kubectl)
        command = [kubectl, "--kubeconfig", str(self.cluster.kubeconfig), "--context", user, *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)

    def output(self, *arguments: str, stdin: str = "", user: str = "admin") -> str:
        done = self.kubectl(*arguments, stdin=stdin, user=user)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self) -> None:
        try:
            self.do(self.cluster.close())
        finally:
            self._end_loop()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@contextmanager
def running_cluster(directory: Path, settings: ClusterSettings | None = None) -> Iterator[Running]:
    running = Running(directory, settings or ClusterSettings(users=USERS))
    try:
        yield running
    finally:
        running.stop()
