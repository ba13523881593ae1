"""The Kubernetes API in typed verbs, over one transport.

- An answer that is no success is raised as one of `core.errors`; the caller reacts by class, never by text.
- Nothing is retried here: whoever asked knows when to ask again, and no worker waits for it.
- Every request has a deadline. A write passes the fence first: after the Lease's local deadline nothing is sent,
  and what is sent has a shorter deadline than what is left of the Lease.
- `document` bodies are plain JSON values; what comes back is decoded into the kind's struct.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol, TypeVar

import msgspec

from seamark.api.meta import Key, Object, Wire, document
from seamark.core.errors import Conflict, Exists, Expired, Fenced, Gone, Refused, Retry, SeamarkError, Uncertain
from seamark.core.transport import Answer, NoAnswerError, Request, Stream, Transport

T = TypeVar("T", bound=Object)

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Fence(Protocol):
    """Says how long writes may still be sent; nothing is sent at zero or below."""

    def remaining(self) -> float: ...


class OpenFence:
    """For programs that run alone and elect nobody."""

    def remaining(self) -> float:
        return float("inf")


class _Cause(Wire, frozen=True):
    reason: str = ""
    field: str = ""


class _Details(Wire, frozen=True):
    retry_after_seconds: float | None = None
    causes: tuple[_Cause, ...] = ()


class StatusAnswer(Wire, frozen=True):
    """The `Status` object with which the API server explains itself."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details = _Details()

    def caused_by(self, reason: str) -> bool:
        return any(cause.reason == reason for cause in self.details.causes)


class _ListMeta(Wire, frozen=True):
    resource_version: str = ""
    next_page: str = msgspec.field(default="", name="continue")


class _RawList(Wire, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: tuple[msgspec.Raw, ...] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list. Items are raw, so that one that can't be decoded does not take the others with it."""

    items: tuple[msgspec.Raw, ...]
    resource_version: str
    next_page: str


@cache
def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(kind)


_STATUS = msgspec.json.Decoder(StatusAnswer)
_LIST = msgspec.json.Decoder(_RawList)


class Client:
    def __init__(
        self,
        transport: Transport,
        *,
        manager: str,
        fence: Fence | None = None,
        timeout: float = 30,
        urgent: bool = False,
    ) -> None:
        self.transport = transport
        self.urgent = urgent
        self.manager = manager
        self.fence = fence or OpenFence()
        self.timeout = timeout

    def named(self, manager: str) -> Client:
        """The same connection under another field manager."""
        return Client(self.transport, manager=manager, fence=self.fence, timeout=self.timeout, urgent=self.urgent)

    async def get(self, kind: type[T], key: Key) -> T:
        return await self._object(kind, Request("GET", kind.RESOURCE.path(*key)))

    async def list_page(
        self, kind: type[T], *, namespace: str = "", query: Mapping[str, str] | None = None, limit: int = 500
    ) -> Page:
        request = Request("GET", kind.RESOURCE.path(namespace), query={"limit": str(limit), **(query or {})})
        answer = await self._send(request)
        try:
            listing = _LIST.decode(answer.body)
        except msgspec.DecodeError as error:
            raise Retry(f"GET {request.path}: the answer is no list: {error}") from error
        return Page(listing.items or (), listing.metadata.resource_version, listing.metadata.next_page)

    async def list(self, kind: type[T], *, namespace: str = "", query: Mapping[str, str] | None = None) -> list[T]:
        items: list[T] = []
        more: dict[str, str] = dict(query or {})
        while True:
            page = await self.list_page(kind, namespace=namespace, query=more)
            items += [decoder(kind).decode(raw) for raw in page.items]
            if not page.next_page:
                return items
            more["continue"] = page.next_page

    @asynccontextmanager
    async def watch(self, kind: type[T], *, namespace: str = "", query: Mapping[str, str]) -> AsyncIterator[Stream]:
        request = Request("GET", kind.RESOURCE.path(namespace), query={"watch": "1", **query}, timeout=self.timeout)
        try:
            async with self.transport.stream(request) as stream:
                if stream.status != 200:
                    raise failure(request, Answer(stream.status, await stream.read()))
                yield stream
        except NoAnswerError as error:
            raise Retry(str(error)) from error

    async def create(self, obj: T) -> T:
        path = obj.RESOURCE.path(obj.metadata.namespace)
        return await self._object(type(obj), self._write("POST", path, document(obj)))

    async def merge_patch(self, kind: type[T], key: Key, patch: Mapping[str, Any], subresource: str = "") -> T:
        path = kind.RESOURCE.path(*key, subresource)
        return await self._object(kind, self._write("PATCH", path, patch, MERGE_PATCH))

    async def json_patch(
        self, kind: type[T], key: Key, operations: Sequence[Mapping[str, Any]], subresource: str = ""
    ) -> T:
        path = kind.RESOURCE.path(*key, subresource)
        return await self._object(kind, self._write("PATCH", path, operations, JSON_PATCH))

    async def apply(self, kind: type[T], key: Key, fields: Mapping[str, Any], subresource: str = "") -> T:
        """Server-side apply of the full set of fields that this client's manager owns."""
        resource = kind.RESOURCE
        identity = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        metadata = {**identity, **fields.get("metadata", {})}
        body = {**fields, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        request = self._write("PATCH", resource.path(*key, subresource), body, APPLY_PATCH)
        return await self._object(kind, replace(request, query={**request.query, "force": "true"}))

    async def delete(
        self, kind: type[T], key: Key, *, uid: str, version: str = "", propagation: str = "Background"
    ) -> None:
        """Deletes that very object. Its absence, or another object in its place, is success.

        With a `version` only as it was seen then: any change since is a Conflict.
        """
        seen = {"resourceVersion": version} if version else {}
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid, **seen},
            "propagationPolicy": propagation,
        }
        try:
            await self._send(self._write("DELETE", kind.RESOURCE.path(*key), options))
        except Gone:
            return
        except Conflict:
            if version:
                raise

    def _write(self, method: str, path: str, body: object, content_type: str = "application/json") -> Request:
        query = {} if method == "DELETE" else {"fieldManager": self.manager}
        return Request(method, path, query=query, body=msgspec.json.encode(body), content_type=content_type)

    async def _object(self, kind: type[T], request: Request) -> T:
        answer = await self._send(request)
        try:
            obj: T = decoder(kind).decode(answer.body)
        except msgspec.DecodeError as error:
            lost = Uncertain if request.writes else Retry
            raise lost(f"{request.method} {request.path}: the answer can't be read: {error}") from error
        return obj

    async def _send(self, request: Request) -> Answer:
        timeout = self.timeout
        if request.writes:
            timeout = min(timeout, self.fence.remaining())
            if timeout <= 0:
                raise Fenced(f"{request.method} {request.path} was not sent: the lease is no longer ours")
        try:
            answer = await self.transport.send(replace(request, timeout=timeout, urgent=self.urgent))
        except NoAnswerError as error:
            lost = Uncertain if request.writes and error.sent else Retry
            raise lost(f"{request.method} {request.path}: {error}") from error
        if answer.status >= 300:
            raise failure(request, answer)
        return answer


def failure(request: Request, answer: Answer) -> SeamarkError:  # noqa: PLR0911  one row per answer
    """The reaction that a server's answer calls for."""
    status = explain(answer)
    message = status.message or f"{request.method} {request.path} answered {answer.status}"
    match answer.status:
        case 401:
            return Retry(message)  # our credentials, not what was asked: the transport has renewed them once already
        case 404 if request.method == "POST":
            return _refused(status, message)  # the namespace is missing, not the object
        case 404:
            return Gone(message)
        case 409 if status.reason == "AlreadyExists":
            return Exists(message)
        case 409 if status.caused_by("FieldManagerConflict"):
            return _refused(status, message)
        case 409:
            return Conflict(message)
        case 410:
            return Expired(message)
        case 422 if request.content_type == JSON_PATCH and not status.details.causes:
            return Conflict(message)  # a `test` of the patch did not hold
        case 429:
            return Retry(message, after=retry_after(answer, status))
        case 504 if status.caused_by("ResourceVersionTooLarge"):
            return Expired(message)
        case code if code >= 500:
            return (Uncertain if request.writes else Retry)(message, after=retry_after(answer, status))
        case _:
            return _refused(status, message)


def explain(answer: Answer) -> StatusAnswer:
    try:
        status = _STATUS.decode(answer.body)
    except msgspec.DecodeError:
        status = StatusAnswer(message=answer.body[:200].decode(errors="replace").strip())
    return msgspec.structs.replace(status, code=answer.status)


def retry_after(answer: Answer, status: StatusAnswer) -> float | None:
    header = answer.headers.get("Retry-After", "")
    if header.isdigit():
        return float(header)
    return status.details.retry_after_seconds


def _refused(status: StatusAnswer, message: str) -> Refused:
    fields = tuple(cause.field for cause in status.details.causes if cause.field)
    return Refused(message, reason=status.reason, code=status.code, fields=fields)
