"""The transport to an API server: requests and responses.

- Everything above this protocol runs unchanged on a socket, on the embedded store, and under the simulator.
- `send` returns whatever the server answered, errors included; it raises only when there was no answer.
- `stream` yields the body as it arrives, cut anywhere; the caller puts lines together.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from seamark_runtime.untrusted.names import ApiPath


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    path: ApiPath
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"
    timeout: float = 30.0
    urgent: bool = False  # waits for no other request

    @property
    def writes(self) -> bool:
        return self.method not in ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Stream(Protocol):
    """An open response: its status, then its body in pieces."""

    status: int

    def chunks(self) -> AsyncIterator[bytes]: ...

    async def read(self) -> bytes: ...


class Transport(Protocol):
    async def send(self, request: HttpRequest) -> Answer: ...

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[Stream]: ...

    async def close(self) -> None: ...


class NoAnswerError(Exception):
    """The request may or may not have reached the server. `sent` is False where it surely did not."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent
