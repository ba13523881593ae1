"""The few calls that everything is made of, in the shape of the REST API."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Protocol

from seamark_edge.model import Fields, Owner


class Kind(Enum):
    """A collection: its path, and the name of its list."""

    KEYS = ("/api_keys", "keys")
    ADDRESSES = ("/reserved_addrs", "reserved_addrs")
    DOMAINS = ("/reserved_domains", "reserved_domains")
    ENDPOINTS = ("/endpoints", "endpoints")
    OPERATORS = ("/kubernetes_operators", "operators")
    SESSIONS = ("/tunnel_sessions", "tunnel_sessions")

    @property
    def path(self) -> str:
        return self.value[0]

    @property
    def key(self) -> str:
        return self.value[1]


request_owner: ContextVar[str] = ContextVar("request_owner", default="")  # whose share a request uses; "" for ours


@contextmanager
def requests_of(owner: Owner) -> Iterator[None]:
    """Requests that are made inside are this owner's: they wait for others of its namespace, and others do not."""
    before = request_owner.set(owner.share)
    try:
        yield
    finally:
        request_owner.reset(before)


class Calls(Protocol):
    """Plain calls. Errors are those of `core.errors`; a write whose reply was lost raises `Uncertain`."""

    async def listed(self, kind: Kind, *, limit: int = 0, where: str = "") -> list[Fields]:
        """All objects, or the newest `limit` of them; `where` is a CEL expression over `obj`, evaluated by the edge."""

    async def create(self, kind: Kind, body: Fields) -> Fields: ...

    async def update(self, kind: Kind, ident: str, body: Fields) -> Fields: ...

    async def delete(self, kind: Kind, ident: str) -> None: ...

    async def check(self, idents: Collection[str]) -> dict[str, Fields]:
        """Agents dial the upstreams of these endpoints now: the reports, by id; none about an endpoint that is gone."""

    async def bound(self, operator: str) -> list[Fields]: ...

    async def close(self) -> None: ...
