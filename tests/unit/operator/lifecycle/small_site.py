"""An API server in this process, with our kinds, for tests of an installation's life."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, TypeVar

import msgspec

from seamark_cluster.embedded.store import Store
from seamark_cluster.embedded.transport import EmbeddedTransport
from seamark_runtime.client import Client
from seamark_runtime.clock import SystemClock
from seamark_runtime.transport import HttpRequest
from seamark_runtime.untrusted.names import received_path

HOME = "seamark-system"
V = TypeVar("V")


class Site:
    """A cluster with the installation's namespace."""

    def __init__(self) -> None:
        self.transport = EmbeddedTransport(Store(clock=SystemClock(), chance=Random(1)))
        self.client = Client(self.transport, manager="test")

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        answer = await self.transport.send(
            HttpRequest(method, received_path(path), body=msgspec.json.encode(body) if body else b"")
        )
        return answer.status, msgspec.json.decode(answer.body)

    async def make(self, path: str, body: Any) -> None:
        code, said = await self.ask("POST", path, body)
        assert code == 201, said


def at(program: Callable[[Site], Awaitable[V]]) -> V:
    async def run() -> V:
        site = Site()
        await site.make("/api/v1/namespaces", {"metadata": {"name": HOME}})
        return await program(site)

    return asyncio.run(run())
