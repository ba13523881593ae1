"""An API server that answers reviews: whose a token is, and who may read what."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError, Stream


class Reviews:
    """`tokens` by person; `rights` by person: (verb, plural, namespace). `trouble` is what is answered instead."""

    def __init__(self, tokens: dict[str, str], rights: dict[str, set[tuple[str, str, str]]] | None = None) -> None:
        self.tokens = tokens
        self.rights = rights or {}
        self.trouble: list[int | None] = []  # statuses, one for each request; None for no answer
        self.asked: list[str] = []

    async def send(self, request: HttpRequest) -> Answer:
        asked = msgspec.json.decode(request.body)
        self.asked.append(asked["kind"])
        if self.trouble:
            status = self.trouble.pop(0)
            if status is None:
                raise NoAnswerError("no answer")
            return Answer(status, b'{"kind": "Status"}')
        return Answer(201, msgspec.json.encode({"status": self._status(asked["kind"], asked["spec"])}))

    def _status(self, kind: str, spec: Any) -> dict[str, Any]:
        if kind == "TokenReview":
            name = self.tokens.get(spec["token"])
            return {"authenticated": True, "user": {"username": name}} if name else {"authenticated": False}
        where = spec["resourceAttributes"]
        return {
            "allowed": (where["verb"], where["resource"], where["namespace"]) in self.rights.get(spec["user"], set())
        }

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is open."""
