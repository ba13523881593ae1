"""The Kubernetes API in typed verbs, over one transport.

- An answer that is no success is raised as one of `errors`; the caller reacts by class, never by text.
- Nothing is retried here: the caller decides when to try again, and no worker waits for it.
- Every request has a deadline. A write has a write deadline, too: after the Lease's local deadline nothing is sent,
  and what is sent has a shorter deadline than what is left of the Lease.
- `document` bodies are plain JSON values; what comes back is decoded into the kind's struct, within limits.
- A name that no object can have is `Refused` before anything is sent. Whatever an object contains, nothing but errors
  of `errors` is raised.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import msgspec
import structlog

from seamark_runtime.api.meta import Key, Object, ObjectMeta, Wire, document
from seamark_runtime.errors import Conflict, Exists, Expired, Fenced, Gone, Refused, Retry, SeamarkError, Uncertain
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError, Stream, Transport
from seamark_runtime.untrusted.decoding import InvalidSyntax, Limits, Malformed, decode_envelope, decode_json
from seamark_runtime.untrusted.names import ApiPath, InvalidName
from seamark_runtime.untrusted.partialread import readable_part

T = TypeVar("T", bound=Object)

log = structlog.get_logger(__name__)

# The API server takes 3 MiB in a request; quoting can make each byte of a string six in an answer.
OBJECT = Limits(size=20 * 2**20, depth=100)
LONGEST_PAUSE = 300.0  # seconds that the server may ask for

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class WriteDeadline(Protocol):
    """How long writes may still be sent; nothing is sent at zero or below."""

    def remaining(self) -> float: ...


class NoWriteDeadline:
    """For programs without leader election."""

    def remaining(self) -> float:
        return float("inf")


class _Cause(Wire, frozen=True):
    reason: str = ""
    field: str = ""


class _Details(Wire, frozen=True):
    name: str = ""
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


class _Identified(Wire, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def page_of(body: bytes) -> Page:
    """A list as the API server answers it. Raises Malformed."""
    listing = decode_envelope(body, _RawList)
    return Page(listing.items or (), listing.metadata.resource_version, listing.metadata.next_page)


def identity_of(raw: bytes | msgspec.Raw) -> ObjectMeta:
    """The metadata of an object, whatever else it contains. Raises Malformed."""
    return decode_envelope(raw, _Identified).metadata


class Client:
    def __init__(
        self,
        transport: Transport,
        *,
        manager: str,
        write_deadline: WriteDeadline | None = None,
        timeout: float = 30,
        urgent: bool = False,
    ) -> None:
        self.transport = transport
        self.urgent = urgent
        self.manager = manager
        self.write_deadline = write_deadline or NoWriteDeadline()
        self.timeout = timeout

    def named(self, manager: str) -> Client:
        """The same connection under another field manager."""
        return Client(
            self.transport,
            manager=manager,
            write_deadline=self.write_deadline,
            timeout=self.timeout,
            urgent=self.urgent,
        )

    async def get(self, kind: type[T], key: Key) -> T:
        return await self._object(kind, HttpRequest("GET", path_of(kind, key)), key)

    async def list_page(
        self, kind: type[T], *, namespace: str = "", query: Mapping[str, str] | None = None, limit: int = 500
    ) -> Page:
        path = collection_of(kind, namespace)
        answer = await self._send(HttpRequest("GET", path, query={"limit": str(limit), **(query or {})}))
        try:
            return page_of(answer.body)
        except Malformed as error:
            raise Retry(f"GET {path}: the answer is no list: {error}") from error

    async def list(self, kind: type[T], *, namespace: str = "", query: Mapping[str, str] | None = None) -> list[T]:
        """All objects that can be read; the others are logged."""
        items: list[T] = []
        async for raw in self._items(kind, namespace, query or {}):
            try:
                items.append(decode_json(bytes(raw), kind, OBJECT))
            except Malformed as error:
                log.warning("object can't be read", kind=kind.RESOURCE.kind, error=str(error))
        return items

    async def list_metadata(
        self, kind: type[Object], *, namespace: str = "", query: Mapping[str, str] | None = None
    ) -> tuple[ObjectMeta, ...]:
        """The metadata of all objects, whatever else they contain."""
        return tuple([identity_of(raw) async for raw in self._items(kind, namespace, query or {})])

    async def _items(self, kind: type[Object], namespace: str, query: Mapping[str, str]) -> AsyncIterator[msgspec.Raw]:
        more = dict(query)
        while True:
            page = await self.list_page(kind, namespace=namespace, query=more)
            for raw in page.items:
                yield raw
            if not page.next_page:
                return
            more["continue"] = page.next_page

    @asynccontextmanager
    async def watch(self, kind: type[T], *, namespace: str = "", query: Mapping[str, str]) -> AsyncIterator[Stream]:
        path = collection_of(kind, namespace)
        request = HttpRequest("GET", path, query={"watch": "1", **query}, timeout=self.timeout)
        try:
            async with self.transport.stream(request) as stream:
                if stream.status != 200:
                    raise failure(request, Answer(stream.status, await stream.read()))
                yield stream
        except NoAnswerError as error:
            raise Retry(str(error)) from error

    async def create(self, obj: T) -> T:
        path = collection_of(type(obj), obj.metadata.namespace)
        return await self._object(type(obj), self._write("POST", path, obj))

    async def merge_patch(self, kind: type[T], key: Key, patch: Mapping[str, Any], subresource: str = "") -> T:
        path = path_of(kind, key, subresource)
        return await self._object(kind, self._write("PATCH", path, patch, MERGE_PATCH), key)

    async def patch_metadata(self, kind: type[Object], key: Key, metadata: Mapping[str, Any]) -> None:
        """A merge patch of the metadata alone, whatever else the object contains."""
        await self._send(self._write("PATCH", path_of(kind, key), {"metadata": metadata}, MERGE_PATCH))

    async def get_metadata(self, kind: type[Object], key: Key) -> ObjectMeta:
        """The metadata of an object, whatever else it contains."""
        request = HttpRequest("GET", path_of(kind, key))
        try:
            return identity_of((await self._send(request)).body)
        except Malformed as error:
            raise Retry(f"GET {request.path}: the answer can't be read: {error}") from error

    async def json_patch(
        self, kind: type[T], key: Key, operations: Sequence[Mapping[str, Any]], subresource: str = ""
    ) -> T:
        path = path_of(kind, key, subresource)
        return await self._object(kind, self._write("PATCH", path, operations, JSON_PATCH), key)

    async def apply(self, kind: type[T], key: Key, fields: Mapping[str, Any], subresource: str = "") -> T:
        """Server-side apply of the full set of fields that this client's manager owns."""
        resource = kind.RESOURCE
        identity = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        metadata = {**identity, **fields.get("metadata", {})}
        body = {**fields, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        request = self._write("PATCH", path_of(kind, key, subresource), body, APPLY_PATCH)
        return await self._object(kind, replace(request, query={**request.query, "force": "true"}), key)

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
            await self._send(self._write("DELETE", path_of(kind, key), options))
        except Gone:
            return
        except Conflict:
            if version:
                raise

    def _write(self, method: str, path: ApiPath, body: object, content_type: str = "application/json") -> HttpRequest:
        query = {} if method == "DELETE" else {"fieldManager": self.manager}
        try:
            raw = msgspec.json.encode(document(body) if isinstance(body, Object) else body)
        except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
            raise Refused(f"{method} {path} was not sent: the content is no JSON: {error}", reason="Invalid") from error
        raw = as_yaml(raw) if content_type == APPLY_PATCH else raw
        return HttpRequest(method, path, query=query, body=raw, content_type=content_type)

    async def _object(self, kind: type[T], request: HttpRequest, key: Key | None = None) -> T:
        """The object of the answer. One that is not the object asked for is no answer: a proxy may send anything."""
        answer = await self._send(request)
        try:
            obj: T = decode_json(answer.body, kind, OBJECT)
            if key is not None and obj.key != key:
                raise InvalidSyntax("it is another object")
            return obj
        except Malformed as error:
            message = f"{request.method} {request.path}: the answer can't be read: {error}"
            if request.writes:
                if (leaving := _leaving(kind, answer, key)) is not None:
                    return leaving
                raise Uncertain(message) from error
            if isinstance(error, InvalidSyntax):
                raise Retry(message) from error
            raise Refused(f"the object can't be read: {error}", reason="Unreadable") from error

    async def _send(self, request: HttpRequest) -> Answer:
        timeout = self.timeout
        if request.writes:
            timeout = min(timeout, self.write_deadline.remaining())
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


def _leaving(kind: type[T], answer: Answer, key: Key | None) -> T | None:
    """The answer about an object that is being deleted, which is released by what can be read of it."""
    try:
        part = readable_part(answer.body, kind, OBJECT)
    except Malformed:
        return None
    return part if part.deleting and part.key == key else None


def path_of(kind: type[Object], key: Key, subresource: str = "") -> ApiPath:
    """The path of an object; Refused where no object can have this name."""
    try:
        return kind.RESOURCE.path(*key, subresource)
    except InvalidName as error:
        raise Refused(str(error), reason="Invalid", code=422) from None


def collection_of(kind: type[Object], namespace: str) -> ApiPath:
    """The path of all objects of a kind, in one namespace or everywhere."""
    try:
        return kind.RESOURCE.path(namespace)
    except InvalidName as error:
        raise Refused(str(error), reason="Invalid", code=422) from None


_NOT_IN_YAML = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)}


def as_yaml(raw: bytes) -> bytes:
    """JSON that is valid YAML, too: the API server parses an apply as YAML, where some characters must be escaped."""
    if raw.isascii() and b"\x7f" not in raw:
        return raw
    return raw.decode().translate(_NOT_IN_YAML).encode()


def failure(request: HttpRequest, answer: Answer) -> SeamarkError:  # noqa: PLR0911  one row per answer
    """The reaction that a server's answer calls for."""
    status = explain(answer)
    message = message_of(request, status)
    match answer.status:
        case 401:
            return Retry(message)  # our credentials, not what was asked: the transport has renewed them once already
        case 404 if request.method == "POST":
            return _refused(status, message)  # the namespace is missing, not the object
        case 404:
            return Gone(message, name=status.details.name)
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


def message_of(request: HttpRequest, status: StatusAnswer) -> str:
    if status.code == 404 and not status.reason:  # not about an object: the path itself is unknown to the server
        return f"{resource_in(request.path)} is not served by this cluster: install its CRD"
    return status.message or f"{request.method} {request.path} answered {status.code}"


def resource_in(path: str) -> str:
    """The resource that a path of the API is about, as `plural.group`."""
    root, *rest = path.partition("?")[0].strip("/").split("/")
    group, rest = (rest[0], rest[2:]) if root == "apis" and len(rest) > 2 else ("", rest[1:])
    plural = next(iter(rest[2:] if rest[:1] == ["namespaces"] and len(rest) > 2 else rest), path)
    return f"{plural}.{group}" if group else plural


def explain(answer: Answer) -> StatusAnswer:
    try:
        status = decode_json(answer.body, StatusAnswer, OBJECT)
    except Malformed:
        status = StatusAnswer(message=answer.body[:200].decode(errors="replace").strip())
    return msgspec.structs.replace(status, code=answer.status)


def retry_after(answer: Answer, status: StatusAnswer) -> float | None:
    """What the server asks for, within a limit: a request that is held back without end would never be reconciled
    again."""
    header = answer.headers.get("Retry-After", "")
    seconds = float(header) if header.isascii() and header.isdigit() else status.details.retry_after_seconds
    return min(seconds, LONGEST_PAUSE) if seconds is not None else None


def _refused(status: StatusAnswer, message: str) -> Refused:
    fields = tuple(cause.field for cause in status.details.causes if cause.field)
    return Refused(message, reason=status.reason, code=status.code, fields=fields)
