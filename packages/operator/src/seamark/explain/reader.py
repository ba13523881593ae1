"""Reads a cluster with the rights of the user.

- Objects are plain JSON: a hop may be of any kind, of any writer.
- What may not be read is an answer (`Forbidden`), and so is what does not exist: a chain goes on around both.
- Each object and each list is read once per explanation; what is asked for together is read together.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from seamark.explain.links import Selection
from seamark.explain.model import Raw
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.client import OBJECT, Page, explain, page_of
from seamark_runtime.errors import Retry, UserError
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError, Transport
from seamark_runtime.untrusted.decoding import Malformed, decode_plain_json
from seamark_runtime.untrusted.names import InvalidName

PAGE = 1000


@dataclass(frozen=True)
class Missing:
    """It does not exist. `served` is False where the cluster does not know the kind at all."""

    served: bool = True


@dataclass(frozen=True)
class Forbidden:
    message: str


class Lookup(Protocol):
    """Where objects are looked up, without waiting."""

    def get(self, resource: Resource, key: Key) -> Raw | Missing | Forbidden: ...

    def all(self, selection: Selection) -> list[Raw] | Missing | Forbidden: ...


@dataclass
class Reader:
    """A lookup that is filled on demand: what is missing is recorded, and fetched by `catch_up`."""

    transport: Transport
    server_time: datetime | None = None  # by the last answer of the API server
    _objects: dict[tuple[Resource, Key], Raw | Missing | Forbidden] = field(default_factory=dict)
    _lists: dict[tuple[Resource, str, str], list[Raw] | Missing | Forbidden] = field(default_factory=dict)
    _requested: dict[tuple[Resource, Key] | tuple[Resource, str, str], None] = field(default_factory=dict)

    def get(self, resource: Resource, key: Key) -> Raw | Missing | Forbidden:
        found: Raw | Missing | Forbidden = self._known(self._objects, (resource, key), Missing())
        return found

    def all(self, selection: Selection) -> list[Raw] | Missing | Forbidden:
        found = self._known(self._lists, (selection.resource, selection.namespace, selection.selector), [])
        return [raw for raw in found if selection.matches(raw)] if isinstance(found, list) else found

    def _known(self, known: dict[Any, Any], request: Any, default: Any) -> Any:
        if request not in known:
            self._requested[request] = None
            return default
        return known[request]

    async def catch_up(self) -> bool:
        """Fetches what was requested and missing. Returns whether there was anything."""
        requested, self._requested = list(self._requested), {}
        await asyncio.gather(*(self._fetch(request) for request in requested))
        return bool(requested)

    async def _fetch(self, request: tuple[Resource, Key] | tuple[Resource, str, str]) -> None:
        if len(request) == 2:
            self._objects[request] = await self._get(*request)
        else:
            self._lists[request] = await self.list_all(*request)

    async def _get(self, resource: Resource, key: Key) -> Raw | Missing | Forbidden:
        try:
            path = resource.path(*key)
        except InvalidName:
            return Missing()  # nothing can have this name
        answer = await self._send(HttpRequest("GET", path))
        if answer.status != 200:
            return _failed(answer)
        try:
            found: Raw = decode_plain_json(answer.body, OBJECT)
        except Malformed as error:
            return Forbidden(f"it can't be read: {error}")
        return found

    async def list_all(
        self, resource: Resource, namespace: str = "", labels: str = "", fields: str = ""
    ) -> list[Raw] | Missing | Forbidden:
        items: list[Raw] = []
        query = {"limit": str(PAGE)} | ({"labelSelector": labels} if labels else {})
        query |= {"fieldSelector": fields} if fields else {}
        while True:
            answer = await self._send(HttpRequest("GET", resource.path(namespace), query))
            if answer.status != 200:
                return _failed(answer)
            try:
                page = page_of(answer.body)
            except Malformed as error:
                raise Retry(f"the API server's answer is no list of {resource}: {error}") from None
            items += readable(page)
            if not page.next_page:
                return items
            query["continue"] = page.next_page

    async def _send(self, request: HttpRequest) -> Answer:
        try:
            answer = await self.transport.send(request)
        except NoAnswerError as error:
            hint = "is it up, and the kubeconfig right?"
            raise UserError(f"the API server does not answer: {error}", hint=hint) from None
        if date := next((value for name, value in answer.headers.items() if name.lower() == "date"), ""):
            with contextlib.suppress(ValueError, TypeError):
                self.server_time = parsedate_to_datetime(date)
        if answer.status == 401:
            raise UserError(
                "the API server rejected your credentials (401)", hint="the token or certificate may have expired"
            )
        return answer


def readable(page: Page) -> list[Raw]:
    """The objects of a page without those that are beyond the limits."""
    found: list[Raw] = []
    for raw in page.items:
        with contextlib.suppress(Malformed):
            found.append(decode_plain_json(bytes(raw), OBJECT))
    return found


def _failed(answer: Answer) -> Missing | Forbidden:
    status = explain(answer)
    if answer.status == 404:
        return Missing(served=bool(status.details.name))
    if answer.status == 403:
        return Forbidden(status.message)
    raise Retry(f"the API server answered {answer.status}: {status.message}")
