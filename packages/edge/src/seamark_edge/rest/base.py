"""What all resources share: reading bodies, paging, references, their dependencies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar

import msgspec

from seamark_edge.edge.authority import Authority
from seamark_edge.edge.binds import checked_metadata
from seamark_edge.edge.checking import Checker
from seamark_edge.edge.credentials import Credentials
from seamark_edge.edge.errors import invalid, not_found
from seamark_edge.edge.fairshare import FairShare
from seamark_edge.edge.ids import new_id
from seamark_edge.edge.places import Places, TcpPorts
from seamark_edge.edge.registry import Registry
from seamark_edge.edge.sessions import Sessions
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.store.record import Record
from seamark_edge.store.store import Store
from seamark_runtime.clock import timestamp

MAX_DESCRIPTION = 255
PAGE = 100
SLICE_SECONDS = 0.002
MAX_LIST = 256  # entries of a list in a body


@dataclass(slots=True, eq=False)
class Office:
    """Everything that resources work with."""

    settings: EdgeSettings
    store: Store
    registry: Registry
    sessions: Sessions
    credentials: Credentials
    authority: Authority
    places: Places
    ports: TcpPorts
    checker: Checker
    share: FairShare


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that every resource accepts. None is "not set": a new object gets the default, an old one keeps its
    value."""

    description: str | None = None
    metadata: str | None = None


B = TypeVar("B", bound=Body)
T = TypeVar("T")


def read(raw: Any, kind: type[B]) -> B:
    """A request's body as a struct, or a refusal that names the field."""
    try:
        body = msgspec.convert(raw if raw is not None else {}, type=kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise invalid(str(error)[:300]) from error
    if body.description is not None and len(body.description) > MAX_DESCRIPTION:
        raise invalid(f"description of more than {MAX_DESCRIPTION} characters")
    checked_metadata(body.metadata or "")
    return body


def set_fields(body: Body) -> dict[str, Any]:
    """The fields that are set."""
    return {name: value for name, value in msgspec.to_builtins(body).items() if value is not None}


def now() -> str:
    return timestamp(datetime.now(UTC))


class Resource:
    """One collection of the API.

    - `create`, `update` and `delete` are done when the change is on disk and in effect.
    - `view` is what callers see; secrets are in no view.
    """

    path: ClassVar[str]
    key: ClassVar[str]  # of the list
    kind: ClassVar[str]  # in the store
    prefix: ClassVar[str]  # of ids
    what: ClassVar[str]  # in messages
    creates: ClassVar[bool] = True
    updates: ClassVar[bool] = True
    deletes: ClassVar[bool] = True

    def __init__(self, office: Office) -> None:
        self.office = office
        self.store = office.store

    def ids(self) -> list[str]:
        """Newest first."""
        return sorted((record.id for record in self.store.all(self.kind)), reverse=True)

    def view(self, ident: str) -> dict[str, Any]:
        record = self.record(ident)
        return {"id": record.id, "created_at": record.created, "description": "", "metadata": "", **self.show(record)}

    def show(self, record: Record) -> dict[str, Any]:
        return record.body

    async def create(self, raw: Any) -> dict[str, Any]:
        raise NotImplementedError

    async def update(self, ident: str, raw: Any) -> dict[str, Any]:
        record = self.record(ident)
        await self.store.put(record.changed(**set_fields(read(raw, Body))))
        return self.view(ident)

    async def delete(self, ident: str) -> None:
        await self.store.remove(self.record(ident))

    def record(self, ident: str) -> Record:
        record = self.store.get(self.kind, ident)
        if record is None:
            raise not_found(self.what, ident[:100])
        return record

    async def add(self, body: dict[str, Any], name: str | None = None) -> dict[str, Any]:
        record = Record(self.kind, new_id(self.prefix), body, now(), name)
        await self.store.put(record)
        return self.view(record.id)


async def sliced(items: Iterable[T]) -> AsyncIterator[T]:
    """The items; yields to the event loop every few milliseconds, so that a long list delays no other request."""
    until = time.monotonic() + SLICE_SECONDS
    for item in items:
        yield item
        if time.monotonic() > until:
            await asyncio.sleep(0)
            until = time.monotonic() + SLICE_SECONDS


def ref(path: str, ident: str) -> dict[str, str]:
    return {"id": ident, "uri": f"{path}/{ident}"}


def rebase(value: Any, base: str) -> Any:
    """Views carry paths in their `uri` fields; callers get whole addresses."""
    if isinstance(value, dict):
        return {
            name: base + item if name == "uri" and isinstance(item, str) else rebase(item, base)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [rebase(item, base) for item in value]
    return value
