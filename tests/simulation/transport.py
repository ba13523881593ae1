"""The way between the operator and the store: counts requests, takes time, and carries out the plan of faults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from seamark_cluster.embedded import EmbeddedTransport
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError, Stream
from tests.simulation.administration import OPERATOR
from tests.simulation.faults import CANARY, ENDLESS, Fault

if TYPE_CHECKING:
    from tests.simulation.world import World

LATENCY = 0.002


class Link:
    """One life of the operator's connection. When the process dies, the link is dead: nothing passes any more."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._inner = EmbeddedTransport(world.store, OPERATOR, agent="operator")
        self.dead = False

    async def send(self, request: HttpRequest) -> Answer:
        number = self._world.count(request)
        if self._world.flooded:
            await asyncio.Event().wait()  # the promise is broken already; it need not go on for a day
        try:
            answer = await self._answer(number, request)
        except NoAnswerError:
            self._world.failed(request)
            raise
        if answer.status >= 400:
            self._world.failed(request)
        return answer

    async def _answer(self, number: int, request: HttpRequest) -> Answer:
        for fault in self._world.plan.get(number, ()):
            self._world.trouble(0)
            answer = await self._fault(fault, number, request)
            if answer is not None:
                self._world.record(number, request, answer, fault)
                return answer
        return await self._deliver(number, request)

    async def _deliver(self, number: int, request: HttpRequest) -> Answer:
        await self._pass_through(request)
        answer = await self._effect(number, request)
        await asyncio.sleep(LATENCY)
        self._alive()
        return answer

    async def _effect(self, number: int, request: HttpRequest, fault: Fault | None = None) -> Answer:
        with self._world.operator_writes():
            answer = await self._inner.send(request)
        self._world.record(number, request, answer, fault)
        return answer

    async def _pass_through(self, request: HttpRequest) -> None:
        self._alive()
        await asyncio.sleep(LATENCY)
        self._alive()
        if self._world.down:
            raise NoAnswerError("connection refused", sent=False)

    def _alive(self) -> None:
        if self.dead:
            raise NoAnswerError("this process is dead", sent=False)

    async def _fault(  # noqa: PLR0911  one row per fault
        self, fault: Fault, number: int, request: HttpRequest
    ) -> Answer | None:
        world = self._world
        match fault:
            case Fault.CRASH_BEFORE:
                self._die()
            case Fault.CRASH_AFTER:
                await self._pass_through(request)
                await self._effect(number, request, fault)
                self._die()
            case Fault.CONFLICT if request.method in ("PATCH", "DELETE"):
                return refused(409, "Conflict", "the object has been modified; please apply your changes to the latest")
            case Fault.THROTTLE:
                return refused(429, "TooManyRequests", "too many requests", {"Retry-After": "3"})
            case Fault.ERROR:
                return refused(500, "InternalError", "an error on the server has prevented the request")
            case Fault.FORBIDDEN:
                return refused(403, "Forbidden", "user operator cannot do this")
            case Fault.SECRET:
                return refused(403, "Forbidden", f"user operator (Bearer {CANARY}) cannot do this: {ENDLESS}")
            case Fault.TIMEOUT_AFTER:
                await self._pass_through(request)
                await self._effect(number, request, fault)
                return refused(504, "Timeout", "request did not complete within the allotted timeout")
            case Fault.HANG_BEFORE | Fault.HANG_AFTER:
                await self._hang(fault, number, request)
            case Fault.RESET_BEFORE:
                raise NoAnswerError("connection refused", sent=False)
            case Fault.RESET_AFTER:
                await self._pass_through(request)
                await self._effect(number, request, fault)
                raise NoAnswerError("connection reset by peer")
            case _:
                world.befall(fault)
        return None

    async def _hang(self, fault: Fault, number: int, request: HttpRequest) -> None:
        if fault is Fault.HANG_AFTER:
            await self._pass_through(request)
            await self._effect(number, request, fault)
        await asyncio.sleep(request.timeout)
        raise NoAnswerError(f"no answer within {request.timeout:g} s")

    def _die(self) -> None:
        self._alive()  # several requests may be under way: a process dies once
        self.dead = True
        self._world.crashed()
        raise NoAnswerError("this process is dead", sent=False)

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[Stream]:
        await self._pass_through(request)
        self._world.resumes(request)
        again = self._world.sent_last(request)
        async with self._inner.stream(request) as stream:
            yield _Watched(stream, self._world, again) if stream.status == 200 else stream

    async def close(self) -> None:
        pass


class _Watched:
    """A stream that can be cut, silenced and slowed. It may begin with a line that an earlier one has sent already."""

    def __init__(self, inner: Stream, world: World, again: bytes) -> None:
        self._inner = inner
        self._again = again
        self._world = world
        self._cuts = world.cuts
        self._silences = world.silences
        self.status = inner.status

    async def chunks(self) -> AsyncIterator[bytes]:
        if self._again:
            yield self._again
        async for chunk in self._inner.chunks():
            if self._silences != self._world.silences:
                await asyncio.Event().wait()  # half-open: without end
            if self._cuts != self._world.cuts:
                yield chunk[: len(chunk) // 2]
                raise NoAnswerError("connection reset by peer")
            if wait := self._world.lag():
                await asyncio.sleep(wait)
            yield chunk

    async def read(self) -> bytes:
        return await self._inner.read()


def refused(code: int, reason: str, message: str, headers: dict[str, str] | None = None) -> Answer:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return Answer(code, json.dumps(status).encode(), headers or {})
