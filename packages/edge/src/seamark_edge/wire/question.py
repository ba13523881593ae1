"""One request on a stream of its own, and the one JSON object that answers it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from seamark_edge.wire import tunnel
from seamark_edge.wire.muxado import Stream
from seamark_edge.wire.muxado.frames import Bytes
from seamark_runtime.errors import Refused, Retry

A = TypeVar("A", bound=tunnel.Message)


class Question(Generic[A]):
    """The answer to one request, gathered to its end.

    - An `Error` in it is raised as `Refused`; an answer that is no message, or more than `limit` bytes, as `Retry`.
    - `on_answer` is called before anything that the peer sent after it is handled.
    """

    def __init__(
        self, kind: type[A], on_answer: Callable[[A], None] = lambda _: None, limit: int = tunnel.MAX_MESSAGE
    ) -> None:
        self._kind = kind
        self._on_answer = on_answer
        self.answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self.stream: Stream | None = None
        self._reader = tunnel.JsonReader(limit)

    def received(self, data: Bytes) -> None:
        if self.stream is not None:
            self.stream.credit(len(data))
        try:
            body = self._reader.feed(data)
            if body is not None and not self.answer.done():
                self._take(tunnel.decode(body, self._kind))
        except tunnel.MessageError as error:
            self._fail(Retry(str(error)))

    def ended(self) -> None:
        self._fail(ConnectionError("the answer ended early"))

    def lost(self, code: int) -> None:
        self._fail(ConnectionError(f"the stream was lost, code {code}"))

    def writable(self) -> None:
        pass

    def _take(self, answer: A) -> None:
        if self.stream is not None:
            self.stream.finish()
        if error := getattr(answer, "error", ""):
            self._fail(Refused(error.strip()))
        else:
            self._on_answer(answer)
            self.answer.set_result(answer)

    def _fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
