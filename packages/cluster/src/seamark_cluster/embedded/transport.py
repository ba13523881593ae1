"""The store as a transport: code for a real API server runs on it unchanged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from seamark_cluster.embedded.calls import ADMIN, User
from seamark_cluster.embedded.store import Store
from seamark_cluster.embedded.watching import Watch
from seamark_runtime.transport import Answer, HttpRequest, Stream


class WatchStream:
    """An open watch as a response body: one piece per line."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.status = watch.status

    def chunks(self) -> AsyncIterator[bytes]:
        return self._watch.lines()

    async def read(self) -> bytes:
        return b"".join([line async for line in self._watch.lines()])


class AnswerStream:
    """A complete response, read as a stream."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.status = answer.status

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._answer.body

    async def read(self) -> bytes:
        return self._answer.body


class EmbeddedTransport:
    """Requests of one user to a store in this process.

    - `send` returns without waiting.
    - `stream` is open until its reader leaves, its lifetime is over, or the store drops it.
    """

    def __init__(self, store: Store, user: User = ADMIN, agent: str = "seamark") -> None:
        self._store = store
        self._user = user
        self._agent = agent

    async def send(self, request: HttpRequest) -> Answer:
        found = self._store.handle(request, self._user, self._agent)
        if isinstance(found, Watch):
            body = b"".join(found.pending())
            found.close()
            return Answer(found.status, body, {"Content-Type": "application/json"})
        return found

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[Stream]:
        found = self._store.handle(request, self._user, self._agent)
        if isinstance(found, Answer):
            yield AnswerStream(found)
            return
        try:
            yield WatchStream(found)
        finally:
            found.close()

    async def close(self) -> None:
        """Nothing to release: the store is not affected."""
