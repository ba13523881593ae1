"""A transport whose answers the test writes, and a small kind to talk about."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

from seamark_runtime.api.meta import Condition, Object, ObjectMeta, Resource, Wire
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError


class LampSpec(Wire, frozen=True, kw_only=True):
    color: str = ""
    steps: tuple[str, ...] = ()
    names: dict[str, str] | None = None


class LampStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int | None = None
    conditions: tuple[Condition, ...] = ()
    watts: int | None = None


class Lamp(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("test.seamark.dev", "v1", "Lamp", "lamps")

    spec: LampSpec = LampSpec()
    status: LampStatus | None = None


def lamp(name: str = "a", *, version: int = 1, uid: str = "", namespace: str = "ns", **spec: Any) -> Lamp:
    metadata = ObjectMeta(
        name=name, namespace=namespace, uid=uid or f"uid-{name}", resource_version=str(version), generation=1
    )
    return Lamp(metadata=metadata, spec=LampSpec(**spec))


def wire(name: str = "a", version: int = 1, **more: Any) -> dict[str, Any]:
    """A lamp as the API server would send it."""
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {}, **more}


def line(type_: str, obj: Mapping[str, Any]) -> bytes:
    return json.dumps({"type": type_, "object": obj}).encode() + b"\n"


def bookmark(version: int, *, initial: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if initial else {}
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": annotations}})


def failed(code: int, reason: str = "", message: str = "no", **details: Any) -> Answer:
    status = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    return Answer(code, json.dumps(status).encode())


def ok(body: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(body).encode())


class TopOfTheRange(Random):
    """Chance that always gives the most: a pause with jitter is exactly as long as it can be."""

    def random(self) -> float:
        return 1.0


HANG = object()  # in a script: from here on, nothing comes


class ScriptedStream:
    def __init__(self, status: int, pieces: Iterable[Any], body: bytes = b"") -> None:
        self.status = status
        self._pieces = list(pieces)
        self._body = body

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            if piece is HANG:
                await asyncio.Event().wait()
            elif isinstance(piece, BaseException):
                raise piece
            elif isinstance(piece, int | float):
                await asyncio.sleep(piece)
            else:
                yield piece
            await asyncio.sleep(0)

    async def read(self) -> bytes:
        return self._body


Respond = Callable[[HttpRequest], Answer | BaseException]


@dataclass
class ScriptedTransport:
    """Answers requests by `respond`; hands out `streams` one after the other, then one that hangs."""

    respond: Respond = field(default=lambda _request: Answer(200, b"{}"))
    streams: list[Any] = field(default_factory=list)  # a list of pieces, an Answer for a refusal, or an exception
    sent: list[HttpRequest] = field(default_factory=list)
    opened: list[tuple[float, HttpRequest]] = field(default_factory=list)
    delay: float = 0.0

    async def send(self, request: HttpRequest) -> Answer:
        self.sent.append(request)
        if self.delay:
            try:
                async with asyncio.timeout(request.timeout):
                    await asyncio.sleep(self.delay)
            except TimeoutError:
                raise NoAnswerError("no answer in time") from None
        answer = self.respond(request)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[ScriptedStream]:
        self.opened.append((asyncio.get_running_loop().time(), request))
        script = self.streams.pop(0) if self.streams else [HANG]
        if isinstance(script, BaseException):
            raise script
        if isinstance(script, Answer):
            yield ScriptedStream(script.status, (), script.body)
        else:
            yield ScriptedStream(200, script)

    async def close(self) -> None:
        pass


def body(request: HttpRequest) -> Any:
    return json.loads(request.body)
