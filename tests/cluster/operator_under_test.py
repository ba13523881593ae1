"""The operator with the sample family, in this process, on a real API server; and an admin beside it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from seamark.api.sample import Greeting
from seamark.families.sample.family import GREETING
from seamark_cluster.real.audit import Entry
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.clock import SystemClock
from seamark_runtime.connection import Connection
from seamark_runtime.controller import Controller
from seamark_runtime.http import HttpTransport
from seamark_runtime.operator import Operator, World
from seamark_runtime.rbac import Grant
from seamark_runtime.settings import Settings
from seamark_runtime.transport import HttpRequest, NoAnswerError
from seamark_runtime.untrusted.names import received_path
from tests.cluster.recorder import recorded
from tests.cluster.requests import install
from tests.cluster.rights import OPERATOR, granted, needed
from tests.greetings import greeting_controller

Json = dict[str, Any]
OURS = ("Published", "Posted", "Ready")
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
WRITES = ("create", "update", "patch", "delete", "deletecollection")


async def until(condition: Callable[[], Awaitable[bool] | bool], what: str, seconds: float = 30) -> None:
    """Waits until it holds; the message is what was expected."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        answer = condition()
        if (await answer) if isinstance(answer, Awaitable) else answer:
            return
        assert asyncio.get_running_loop().time() < deadline, f"{what}: not within {seconds} s"
        await asyncio.sleep(0.02)


class Api:
    """Plain requests of one user, in plain values."""

    def __init__(self, transport: HttpTransport, namespace: str) -> None:
        self._transport = transport
        self.namespace = namespace

    async def ask(self, method: str, path: str, body: Any = None, media: str = "application/json") -> tuple[int, Json]:
        path, _, query = path.partition("?")
        asked = dict(part.split("=", 1) for part in query.split("&") if part)
        data = b"" if body is None else json.dumps(body).encode()
        try:
            answer = await self._transport.send(HttpRequest(method, received_path(path), asked, data, media))
        except NoAnswerError:
            return 0, {}
        return answer.status, json.loads(answer.body)

    def greeting_path(self, name: str = "") -> str:
        return Greeting.RESOURCE.path(self.namespace, name or None)

    def config_map_path(self, name: str = "") -> str:
        return "/".join(part for part in (f"/api/v1/namespaces/{self.namespace}/configmaps", name) if part)

    async def greet(self, name: str, text: str = "hello", board: str = "") -> Json:
        spec = {"text": text, **({"board": board} if board else {})}
        body = {"apiVersion": Greeting.RESOURCE.api_version, "kind": "Greeting", "metadata": {"name": name}}
        code, made = await self.ask("POST", self.greeting_path(), {**body, "spec": spec})
        assert code == 201, made
        return made

    async def greeting(self, name: str) -> Json:
        return (await self.ask("GET", self.greeting_path(name)))[1]

    async def change(self, name: str, **spec: Any) -> Json:
        code, made = await self.ask("PATCH", self.greeting_path(name), {"spec": spec}, MERGE)
        assert code == 200, made
        return made

    async def drop(self, name: str) -> None:
        await self.ask("DELETE", self.greeting_path(name))

    async def condition(self, name: str, type_: str = "Ready") -> Json:
        """The condition as it stands for the present generation; empty while it speaks of an older one."""
        obj = await self.greeting(name)
        for found in (obj.get("status") or {}).get("conditions", []):
            current = found.get("observedGeneration") == obj["metadata"]["generation"]
            if found["type"] == type_ and current:
                return dict(found)
        return {}

    async def ready(self, name: str) -> bool:
        return (await self.condition(name)).get("status") == "True"

    async def all_ready(self, names: Iterable[str]) -> bool:
        _, listing = await self.ask("GET", self.greeting_path())
        good = {obj["metadata"]["name"] for obj in listing.get("items", []) if is_ready(obj)}
        return good.issuperset(names)

    async def config_map(self, name: str) -> Json | None:
        code, found = await self.ask("GET", self.config_map_path(name))
        return found if code == 200 else None


def is_ready(obj: Json) -> bool:
    conditions = {c["type"]: c for c in (obj.get("status") or {}).get("conditions", [])}
    ready = conditions.get("Ready", {})
    return bool(ready.get("status") == "True" and ready.get("observedGeneration") == obj["metadata"]["generation"])


def connection(plane: ControlPlane, user: str, url: str = "") -> Callable[[], Awaitable[Connection]]:
    found = Connection(url or plane.url, ca_pem=plane.ca.read_text(), token=plane.user(user).token)

    async def load() -> Connection:
        return found

    return load


_names = itertools.count()


@asynccontextmanager
async def operating(
    plane: ControlPlane,
    *,
    url: str = "",
    user: str = OPERATOR,
    sample: Controller[Any] | None = None,
    **settings: Any,
) -> AsyncIterator[Operator]:
    """Runs from here to the end of the block, where it stops in good order. By `url` it goes through a proxy."""
    declared = [sample or greeting_controller()]
    chosen = Settings(**{"leader_election": False, "health_address": "", "stop_grace": 1.0, **settings})
    async with rightful(plane, user, needed(declared, chosen.namespace if chosen.leader_election else "")):
        transport = await HttpTransport(connection(plane, user, url)).open()
        world = World(transport, SystemClock(), Random(1), f"operator-{next(_names)}")
        operator = Operator(world, declared, chosen)
        running = asyncio.get_running_loop().create_task(operator.run())
        try:
            yield operator
            assert not running.done(), "the operator ended by itself"
        finally:
            running.cancel()
            results = await asyncio.gather(running, return_exceptions=True)
            await transport.close()
    assert isinstance(results[0], asyncio.CancelledError), results[0]


@asynccontextmanager
async def rightful(plane: ControlPlane, user: str, found: set[Grant]) -> AsyncIterator[None]:
    """The operator's user has exactly these rights; another one has those that the test gives."""
    if user != OPERATOR:
        yield
        return
    rights = granted(plane, user, found)
    await asyncio.to_thread(rights.__enter__)
    try:
        yield
    finally:
        await asyncio.to_thread(rights.__exit__, None, None, None)


@asynccontextmanager
async def admin(plane: ControlPlane, namespace: str) -> AsyncIterator[Api]:
    transport = await HttpTransport(connection(plane, "admin")).open()
    try:
        yield Api(transport, namespace)
    finally:
        await transport.close()


def on_real_api_server(
    plane: ControlPlane, namespace: str, test: Callable[[Api], Awaitable[None]], *, installed: bool = True
) -> None:
    """Runs a test with the sample kind installed; every state that an object had must keep the rules of status."""
    if installed:
        install(plane, GREETING)

    async def program() -> None:
        async with admin(plane, namespace) as api:
            await test(api)

    if not installed:
        asyncio.run(program())
        return
    with recorded(plane, Greeting.RESOURCE, namespace=namespace, ours=OURS):
        asyncio.run(program())


def writes(entries: Iterable[Entry], namespace: str) -> list[str]:
    """What was written in a namespace, in short."""
    return [
        "/".join(filter(None, (entry.verb, entry.resource, entry.subresource, entry.name)))
        for entry in entries
        if entry.verb in WRITES and entry.namespace == namespace
    ]
