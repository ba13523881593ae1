"""Requests of agents: one JSON object in, one out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog

from seamark.edge.errors import Refusal
from seamark.wire import tunnel
from seamark.wire.muxado import Code, Stream
from seamark.wire.muxado.frames import Bytes
from seamark.wire.tunnel import StreamType

log = structlog.get_logger(__name__)


class Caller(Protocol):
    """The agent whose requests these are."""

    id: str
    credential: str
    tasks: set[asyncio.Task[None]]

    async def answer(self, kind: int, body: bytes) -> tunnel.Message:
        """The answer to one request; raises a Refusal or a MessageError."""

    def count(self, kind: int, outcome: str) -> None: ...


ANSWERED = {
    StreamType.AUTH: tunnel.AuthAnswer,
    StreamType.BIND: tunnel.BindAnswer,
    StreamType.UNBIND: tunnel.Outcome,
    StreamType.START_WITH_LABELS: tunnel.StartWithLabelsAnswer,
    StreamType.SERVER_INFO: tunnel.Outcome,
}


class RpcCall:
    """One request of an agent: gathered, answered with one object, closed.

    - A request of an unknown type is reset; one that is too big or no JSON is answered with an error.
    """

    __slots__ = ("_agent", "_kind", "_reader", "_stream", "_taken")

    def __init__(self, agent: Caller, stream: Stream, kind: int) -> None:
        self._agent = agent
        self._stream = stream
        self._kind = kind
        self._taken = kind not in ANSWERED
        self._reader = tunnel.JsonReader(tunnel.MAX_MESSAGE if agent.credential else 64 * 1024)
        if self._taken:
            log.warning("agent opened a stream of an unknown type", session=agent.id, kind=kind)
            stream.reset(Code.STREAM_REFUSED)

    def received(self, data: Bytes) -> None:
        if self._taken:
            return
        self._stream.credit(len(data))
        try:
            body = self._reader.feed(data)
        except tunnel.MessageError as error:
            self._taken = True
            self._fail(Refusal(400, str(error)))
            return
        if body is not None:
            self._taken = True
            task = asyncio.get_running_loop().create_task(self._run(body))
            self._agent.tasks.add(task)
            task.add_done_callback(self._agent.tasks.discard)

    def ended(self) -> None:
        if not self._taken:
            self._taken = True
            self._fail(Refusal(400, "the request ended before its JSON object did"))

    def lost(self, code: int) -> None:
        self._taken = True

    def writable(self) -> None:
        pass

    async def _run(self, body: bytes) -> None:
        try:
            answer = await self._agent.answer(self._kind, body)
        except Refusal as refusal:
            self._fail(refusal)
        except tunnel.MessageError as error:
            self._fail(Refusal(400, str(error)))
        except Exception:
            log.exception("request of an agent failed", session=self._agent.id, kind=self._kind)
            self._fail(Refusal(500, "internal error", status=500))
        else:
            self._agent.count(self._kind, "ok")
            self._say(answer)

    def _fail(self, refusal: Refusal) -> None:
        self._agent.count(self._kind, refusal.name)
        log.info("request of an agent refused", session=self._agent.id, kind=self._kind, reason=refusal.message)
        make: Callable[..., tunnel.Message] = ANSWERED[StreamType(self._kind)]
        self._say(make(error=refusal.rpc))

    def _say(self, answer: tunnel.Message) -> None:
        self._stream.write(tunnel.encode(answer))
        self._stream.finish()  # some agents read to the end before they look
