"""What all resources share: reading bodies, paging, references, the office that they work in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar

import msgspec

from seamark.core.clock import timestamp
from seamark.edge.authority import Authority
from seamark.edge.credentials import Credentials
from seamark.edge.errors import invalid, not_found
from seamark.edge.ids import new_id
from seamark.edge.places import Places, TcpPorts
from seamark.edge.registry import Registry
from seamark.edge.sessions import Sessions
from seamark.edge.settings import EdgeSettings
from seamark.edge.store import Record, Store

MAX_DESCRIPTION = 255
MAX_METADATA = 4096
PAGE = 100


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


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """What every resource can be told. None is "not said": a new object gets the default, an old one keeps its own."""

    description: str | None = None
    metadata: str | None = None


B = TypeVar("B", bound=Body)


def read(raw: Any, kind: type[B]) -> B:
    """A request's body as a struct, or a refusal that names the field."""
    try:
        body = msgspec.convert(raw if raw is not None else {}, type=kind)
    except msgspec.ValidationError as error:
        raise invalid(str(error)) from error
    if body.description is not None and len(body.description) > MAX_DESCRIPTION:
        raise invalid(f"description of more than {MAX_DESCRIPTION} characters")
    if body.metadata is not None and len(body.metadata.encode()) > MAX_METADATA:
        raise invalid(f"metadata of more than {MAX_METADATA} bytes")
    return body


def said(body: Body) -> dict[str, Any]:
    """The fields that were said."""
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
        await self.store.put(record.changed(**said(read(raw, Body))))
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


Factory = Callable[[Office], Resource]
