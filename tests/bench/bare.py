"""A bare client: the least that a program in this language can do to write to an API server. It makes the floor.

- One session, a bounded number of requests in flight, no cache, no queue, no retry unless asked for.
- It writes the user's part in both halves of a comparison, so its cost is on both sides.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any

import aiohttp
import msgspec

from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.api.meta import Object, Resource
from seamark_runtime.errors import SeamarkError
from tests.bench.scenario import Made, Scenario, Sort, Write

IN_FLIGHT = 64
RETRY = 0.05
DOWN = (aiohttp.ClientError, OSError)


class _Answer(msgspec.Struct, frozen=True):
    metadata: Made


class _List(msgspec.Struct, frozen=True):
    items: tuple[msgspec.Raw, ...] = ()


_ANSWER = msgspec.json.Decoder(_Answer)


class Bare:
    """A user of the control plane. As a context manager it opens and closes its connections."""

    def __init__(self, plane: ControlPlane, user: str) -> None:
        self._base = plane.url
        self._trust = ssl.create_default_context(cafile=str(plane.ca))
        self._headers = {"Authorization": f"Bearer {plane.user(user).token}", "User-Agent": "bench"}
        self.session: aiohttp.ClientSession

    async def __aenter__(self) -> Bare:
        connector = aiohttp.TCPConnector(limit=0, ssl=self._trust, keepalive_timeout=90)
        self.session = aiohttp.ClientSession(
            connector=connector, headers=self._headers, timeout=aiohttp.ClientTimeout(total=60), read_bufsize=2**18
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.session.close()

    def url(self, path: str) -> str:
        return self._base + path

    async def write(self, write: Write) -> Made:
        headers = {"Content-Type": write.content_type}
        body = msgspec.json.encode(write.body)
        async with self.session.request(write.method, self.url(write.path), data=body, headers=headers) as response:
            answer = await response.read()
            if response.status >= 300:
                raise SeamarkError(f"{write.method} {write.path} answered {response.status}: {answer[:300]!r}")
        return _ANSWER.decode(answer).metadata

    async def get(self, path: str) -> bytes:
        async with self.session.get(self.url(path)) as response:
            return await response.read()

    async def all(self, kind: type[Object], namespace: str) -> list[Any]:
        """Every object of a kind there, in one answer."""
        decoder = msgspec.json.Decoder(kind)
        listed = msgspec.json.decode(await self.get(kind.RESOURCE.path(namespace)), type=_List)
        return [decoder.decode(raw) for raw in listed.items]

    async def delete_all(self, resource: Resource, namespace: str) -> None:
        """Of thousands the server deletes what it can in its time, and the rest when it is asked again."""
        while True:
            async with self.session.delete(self.url(resource.path(namespace))) as response:
                if response.status < 300:
                    return
                if response.status != 504:
                    raise SeamarkError(f"{resource} can't be deleted: {await response.text()}")

    async def warm(self) -> None:
        """Opens as many connections as will be used, so that no measurement pays for their handshakes."""
        await asyncio.gather(*(self.get("/readyz") for _ in range(IN_FLIGHT)))


async def each(names: Sequence[str], work: Callable[[str], Awaitable[None]]) -> None:
    """Works on all names, so many at once as may be in flight."""
    left = iter(names)

    async def worker() -> None:
        for name in left:
            await work(name)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(IN_FLIGHT, len(names))):
            group.create_task(worker())


async def make_all(bare: Bare, scenario: Scenario, namespace: str, names: Sequence[str], sort: Sort) -> None:
    """The user's part alone."""

    async def one(name: str) -> None:
        await bare.write(scenario.make(namespace, name, sort))

    await each(names, one)


async def make_and_work(bare: Bare, scenario: Scenario, namespace: str, names: Sequence[str]) -> None:
    """The user's part and the operator's, object by object: the floor."""

    async def one(name: str) -> None:
        work = scenario.work(await bare.write(scenario.make(namespace, name, Sort.PLAIN)))
        write = next(work)
        while True:
            made = await bare.write(write)
            try:
                write = work.send(made)
            except StopIteration:
                return

    await each(names, one)


async def make_through_an_outage(bare: Bare, scenario: Scenario, namespace: str, names: Sequence[str]) -> None:
    """The user's part by a patient user: no answer means to try again, and a name that is there is success."""

    async def one(name: str) -> None:
        write = scenario.make(namespace, name, Sort.PLAIN)
        while True:
            try:
                await bare.write(write)
            except (*DOWN, TimeoutError):
                await asyncio.sleep(RETRY)
            except SeamarkError as error:
                if "answered 409" in error.message:
                    return
                await asyncio.sleep(RETRY)  # an API server that is still starting
            else:
                return

    await each(names, one)
