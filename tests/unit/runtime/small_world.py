"""The operator on the embedded store, in virtual time: a whole cluster for a test of the loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError, Stream
from seamark_runtime.untrusted.names import received_path
from tests.status_rules import check
from tests.virtual_time import CLOCK, elapsed, run

Json = dict[str, Any]
GREETINGS = "/apis/sample.seamark.dev/v1alpha1/namespaces/default/greetings"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SETTINGS = Settings(leader_election=False, health_address="", watch_idle=1e6, watch_lifetime=1e6, workers=4)


@dataclass
class Wire:
    """The operator's way to the store: what was written and when; `fault` may answer in the store's place."""

    store: Store
    written: list[tuple[float, str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    fault: Callable[[HttpRequest], Answer | NoAnswerError | None] = field(default=lambda _request: None)
    silent: set[str] = field(default_factory=set)  # kinds whose watches do not open

    async def send(self, request: HttpRequest) -> Answer:
        if request.writes:
            self.written.append((elapsed(), request.method, request.path))
            self.bodies.append(request.body)
        await asyncio.sleep(0.001)
        found = self.fault(request)
        if isinstance(found, NoAnswerError):
            raise found
        return found or await EmbeddedTransport(self.store, agent="operator").send(request)

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[Stream]:
        while any(request.path.endswith(kind) for kind in self.silent):
            await asyncio.sleep(1)
        async with EmbeddedTransport(self.store, agent="operator").stream(request) as stream:
            yield stream

    async def close(self) -> None:
        pass


class SmallWorld:
    def __init__(self, *crds: CRD) -> None:
        self.store = Store(clock=CLOCK, chance=Random(1))
        self.wire = Wire(self.store)
        self._crds = crds

    async def prepare(self) -> None:
        for crd in self._crds:
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            await self.ask("POST", path, crd.manifest())

    async def ask(self, method: str, path: str, body: Any = None, media: str = "application/json") -> Json:
        data = b"" if body is None else json.dumps(body).encode()
        answer = await EmbeddedTransport(self.store, agent="user").send(
            HttpRequest(method, received_path(path), {}, data, media)
        )
        found: Json = json.loads(answer.body)
        return found

    async def greet(self, name: str, **spec: str) -> Json:
        body = {"apiVersion": "sample.seamark.dev/v1alpha1", "kind": "Greeting", "metadata": {"name": name}}
        return await self.ask("POST", GREETINGS, {**body, "spec": {"text": "hello", **spec}})

    async def change(self, name: str, **spec: str) -> Json:
        return await self.ask("PATCH", f"{GREETINGS}/{name}", {"spec": spec}, "application/merge-patch+json")

    async def greeting(self, name: str) -> Json:
        return await self.ask("GET", f"{GREETINGS}/{name}")

    async def condition(self, name: str, type_: str = "Ready") -> str:
        """The condition's status and reason."""
        found = await self.greeting(name)
        (one,) = [c for c in found["status"]["conditions"] if c["type"] == type_]
        return f"{one['status']} {one['reason']}"

    def writes(self, since: float = 0.0) -> list[str]:
        """What the operator wrote, in short."""
        return [
            f"{method} {path.rpartition('/default/')[2]}" for time, method, path in self.wire.written if time >= since
        ]

    @asynccontextmanager
    async def operating(self, *controllers: Declaration) -> AsyncIterator[Operator]:
        operator = Operator(World(self.wire, CLOCK, Random(2), "operator"), controllers, SETTINGS)
        running = asyncio.get_running_loop().create_task(operator.run())
        try:
            yield operator
            assert not running.done(), running.exception()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def world(test: Callable[[SmallWorld], Awaitable[None]], *crds: CRD) -> SmallWorld:
    """Runs a test in a new world; what its greetings were must keep the rules of status."""
    made: list[SmallWorld] = []

    async def program() -> None:
        small = SmallWorld(*crds)
        made.append(small)
        await small.prepare()
        async with EmbeddedTransport(small.store).stream(
            HttpRequest("GET", received_path(GREETINGS), {"watch": "1"})
        ) as stream:
            recording = asyncio.get_running_loop().create_task(record(stream, histories))
            await test(small)
            await asyncio.sleep(0.01)
            recording.cancel()
            await asyncio.gather(recording, return_exceptions=True)

    histories: dict[str, list[Json | None]] = {}
    run(program())
    violations = {name: found for name, history in histories.items() if (found := check(history, ours=OURS))}
    assert not violations
    return made[0]


OURS = ("Published", "Posted", "Ready")


async def record(stream: Stream, histories: dict[str, list[Json | None]]) -> None:
    async for chunk in stream.chunks():
        for line in chunk.splitlines():
            event = json.loads(line)
            if event["type"] in ("ADDED", "MODIFIED"):
                histories.setdefault(event["object"]["metadata"]["name"], []).append(event["object"])
