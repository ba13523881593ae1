"""Reading a cluster as the person who asks may read it.

- Objects are plain JSON: a hop may be of any kind, of any writer.
- What may not be read is an answer (`Forbidden`), and so is what is not there: a chain goes on around both.
- Each object and each list is read once per explanation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from seamark.api.meta import Key, Resource
from seamark.core.client import explain
from seamark.core.errors import Retry, UserError
from seamark.core.transport import Answer, NoAnswerError, Request, Transport

Raw = dict[str, Any]
PAGE = 1000


@dataclass(frozen=True)
class Missing:
    """It is not there. `served` is False where the cluster does not know the kind at all."""

    served: bool = True


@dataclass(frozen=True)
class Forbidden:
    message: str


@dataclass
class Reader:
    transport: Transport
    _objects: dict[tuple[Resource, Key], Raw | Missing | Forbidden] = field(default_factory=dict)
    _lists: dict[tuple[Resource, str, str], list[Raw] | Missing | Forbidden] = field(default_factory=dict)

    async def get(self, resource: Resource, key: Key) -> Raw | Missing | Forbidden:
        at = (resource, key)
        if at not in self._objects:
            answer = await self._send(Request("GET", resource.path(*key)))
            self._objects[at] = _found(answer)
        return self._objects[at]

    async def all(self, resource: Resource, namespace: str = "", labels: str = "") -> list[Raw] | Missing | Forbidden:
        at = (resource, namespace, labels)
        if at not in self._lists:
            self._lists[at] = await self._pages(resource, namespace, labels)
        return self._lists[at]

    async def _pages(self, resource: Resource, namespace: str, labels: str) -> list[Raw] | Missing | Forbidden:
        items: list[Raw] = []
        query = {"limit": str(PAGE)} | ({"labelSelector": labels} if labels else {})
        while True:
            page = _found(await self._send(Request("GET", resource.path(namespace), query)))
            if not isinstance(page, dict):
                return page
            items += page.get("items") or []
            more = page.get("metadata", {}).get("continue")
            if not more:
                return items
            query["continue"] = more

    async def _send(self, request: Request) -> Answer:
        try:
            answer = await self.transport.send(request)
        except NoAnswerError as error:
            hint = "is it up, and the kubeconfig right?"
            raise UserError(f"the API server does not answer: {error}", hint=hint) from None
        if answer.status == 401:
            raise UserError("the API server does not know you (401)", hint="the token or certificate may have expired")
        return answer


def _found(answer: Answer) -> Raw | Missing | Forbidden:
    if answer.status == 200:
        found: Raw = msgspec.json.decode(answer.body)
        return found
    status = explain(answer)
    if answer.status == 404:
        return Missing(served=status.reason == "NotFound" and "requested resource" not in status.message)
    if answer.status == 403:
        return Forbidden(status.message)
    raise Retry(f"the API server answered {answer.status}: {status.message}")
