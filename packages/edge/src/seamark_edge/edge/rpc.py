"""Requests of agents: one JSON object in, one out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import structlog

from seamark_edge.edge.errors import Refusal
from seamark_edge.wire import tunnel
from seamark_edge.wire.muxado import Code, Stream
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.tunnel import StreamType

log = structlog.get_logger(__name__)


MAX_PENDING = 4 * 1024 * 1024


class Caller(Protocol):
    """The agent whose requests these are."""

    id: str
    credential: str
    tasks: set[asyncio.Task[None]]
    pending: int

    async def in_turn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this work in the agent's share of the edge's time."""

    async def answer(self, kind: int, body: bytes) -> tunnel.Message:
        """The answer to one request; raises a Refusal or a MessageError."""

    def count(self, kind: int, outcome: str) -> None: ...

    def failed(self, error: Exception) -> None:
        """An error of the edge itself: reported, and the request answered with it."""


ANSWERED = {
    StreamType.AUTH: tunnel.AuthAnswer,
    StreamType.BIND: tunnel.BindAnswer,
    StreamType.UNBIND: tunnel.Outcome,
    StreamType.START_WITH_LABELS: tunnel.StartWithLabelsAnswer,
    StreamType.SERVER_INFO: tunnel.Outcome,
    StreamType.REPORT: tunnel.Outcome,
    StreamType.UNUSABLE: tunnel.Outcome,
}


class RpcCall:
    """One request of an agent: gathered, answered with one object, closed.

    - A request of an unknown type is reset; one that is too big or no JSON is answered with an error.
    - The unfinished requests of one agent hold at most `MAX_PENDING` bytes together.
    """

    __slots__ = ("_agent", "_kind", "_reader", "_size", "_stream", "_taken")

    def __init__(self, agent: Caller, stream: Stream, kind: int) -> None:
        self._agent = agent
        self._stream = stream
        self._kind = kind
        self._taken = kind not in ANSWERED
        self._size = 0
        self._reader: tunnel.JsonReader | None = None  # with the first byte: streams alone are to cost little
        if self._taken:
            log.warning("agent opened a stream of an unknown type", session=agent.id, kind=kind)
            stream.reset(Code.STREAM_REFUSED)

    def received(self, data: Bytes) -> None:
        if self._taken:
            return
        self._stream.credit(len(data))
        self._size += len(data)
        self._agent.pending += len(data)
        try:
            if self._agent.pending > MAX_PENDING:
                raise tunnel.MessageError(f"unfinished requests of more than {MAX_PENDING} bytes")
            if self._reader is None:
                self._reader = tunnel.JsonReader(tunnel.MAX_MESSAGE if self._agent.credential else tunnel.MAX_AUTH)
            body = self._reader.feed(data)
        except tunnel.MessageError as error:
            self._take()
            self._fail(Refusal(400, str(error)))
            return
        if body is not None:
            self._take()
            task = asyncio.get_running_loop().create_task(self._agent.in_turn(self._run(body)))
            self._agent.tasks.add(task)
            task.add_done_callback(self._agent.tasks.discard)

    def ended(self) -> None:
        if not self._taken:
            self._take()
            self._fail(Refusal(400, "the request ended before its JSON object did"))

    def lost(self, code: int) -> None:
        self._take()

    def _take(self) -> None:
        """Nothing more is gathered."""
        self._taken = True
        self._agent.pending -= self._size
        self._size = 0

    def writable(self) -> None:
        pass

    async def _run(self, body: bytes) -> None:
        try:
            answer = await self._agent.answer(self._kind, body)
        except Refusal as refusal:
            self._fail(refusal)
        except tunnel.MessageError as error:
            self._fail(Refusal(400, str(error)))
        except Exception as error:
            self._agent.failed(error)
            self._fail(Refusal(500, "internal error", status=500))
        else:
            self._agent.count(self._kind, "ok")
            self._reply(answer)

    def _fail(self, refusal: Refusal) -> None:
        self._agent.count(self._kind, refusal.name)
        if refusal.status != 429:  # who is over a limit asks again and again
            note = log.info if self._agent.credential else log.debug  # the log is not for anonymous peers to fill
            note("request of an agent refused", session=self._agent.id, kind=self._kind, reason=refusal.message[:300])
        make: Callable[..., tunnel.Message] = ANSWERED[StreamType(self._kind)]
        self._reply(make(error=refusal.rpc))

    def _reply(self, answer: tunnel.Message) -> None:
        self._stream.write(tunnel.encode(answer))
        self._stream.finish()  # some agents read to the end before they look
