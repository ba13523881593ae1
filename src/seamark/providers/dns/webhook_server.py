"""Serves a provider of ours to any client of ExternalDNS's webhook protocol, ExternalDNS itself included."""

from __future__ import annotations

import msgspec
import structlog
from aiohttp import web

from seamark.core.errors import SeamarkError
from seamark.providers.dns.endpoints import (
    MEDIA_TYPE,
    Changes,
    DomainFilter,
    Endpoint,
    endpoint_of,
    record_of,
    to_json,
)
from seamark.providers.dns.isolate import Outcome, apply_each
from seamark.providers.dns.model import Change, Part, Provider, Record, Slot, zone_of

log = structlog.get_logger(__name__)
LARGEST = 64 * 1024 * 1024


class WebhookServer:
    """The four requests of the protocol, and /healthz.

    - `GET /`: the zones, as a domain filter. `GET /records`: everything. `POST /adjustendpoints`: as the provider would
      rather have them, in our spelling.
    - `POST /records`: 204 when all of it is live. A refusal of one record applies the others, and is a 400 with no
      body: the protocol has no words for it; the log has them.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.app = web.Application(client_max_size=LARGEST)
        self.app.router.add_get("/", self._negotiate)
        self.app.router.add_get("/records", self._records)
        self.app.router.add_post("/adjustendpoints", self._adjust)
        self.app.router.add_post("/records", self._apply)
        self.app.router.add_get("/healthz", self._healthz)

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _negotiate(self, request: web.Request) -> web.Response:
        if not _accepts(request):
            return web.Response(status=406)
        return _json(DomainFilter(include=self._provider.zones or None))

    async def _records(self, request: web.Request) -> web.Response:
        if not _accepts(request):
            return web.Response(status=406)
        try:
            contents = [await self._provider.read(zone) for zone in self._provider.zones]
        except SeamarkError as error:
            log.warning("the records can't be read", error=error.message)
            return web.Response(status=500)
        return _json([endpoint_of(record) for content in contents for record in content])

    async def _adjust(self, request: web.Request) -> web.Response:
        if request.headers.get("Content-Type") != MEDIA_TYPE:
            return web.Response(status=415)
        try:
            endpoints = msgspec.json.decode(await request.read(), type=tuple[Endpoint, ...])
        except msgspec.MsgspecError:
            return web.Response(status=400)
        records = {record.slot: endpoint for endpoint in endpoints if (record := record_of(endpoint)) is not None}
        unreadable = [endpoint for endpoint in endpoints if record_of(endpoint) is None]
        try:
            adjusted = await self._provider.adjust([_record(endpoint) for endpoint in records.values()])
        except SeamarkError as error:
            log.warning("the provider adjusts nothing", error=error.message)
            return web.Response(status=500)
        readable = [
            msgspec.structs.replace(
                endpoint_of(record), labels=records[record.slot].labels if record.slot in records else None
            )
            for record in adjusted
        ]
        return _json([*readable, *unreadable])

    async def _apply(self, request: web.Request) -> web.Response:
        if request.headers.get("Content-Type") != MEDIA_TYPE:
            return web.Response(status=415)
        try:
            asked = msgspec.json.decode(await request.read(), type=Changes)
            by_zone = await self._changes(asked)
        except (msgspec.MsgspecError, ValueError) as error:
            log.warning("changes can't be read", error=str(error))
            return web.Response(status=400)
        except SeamarkError as error:
            log.warning("the records can't be read", error=error.message)
            return web.Response(status=500)
        return await self._carried_out(by_zone)

    async def _carried_out(self, by_zone: dict[str, list[Change]]) -> web.Response:
        outcome = Outcome()
        try:
            for zone, changes in by_zone.items():
                await apply_each(self._provider, zone, changes, outcome)
        except SeamarkError as error:
            log.warning("the zone takes no changes", error=error.message)
            return web.Response(status=500)
        for change, words in outcome.refused.items():
            log.warning("a record was refused", record=" ".join(change.slot), error=words)
        if outcome.moved:
            return web.Response(status=500)  # read again, and it will go
        return web.Response(status=400 if outcome.refused else 204)

    async def _changes(self, asked: Changes) -> dict[str, list[Change]]:
        """What is wanted against what is there. A slot may be in one list only."""
        wanted: dict[Slot, Record | None] = {}
        for endpoint in asked.delete or ():
            wanted[_record(endpoint).slot] = None
        for endpoint in (*(asked.create or ()), *(asked.update_new or ())):
            wanted[_record(endpoint).slot] = _record(endpoint)
        found: dict[str, list[Change]] = {}
        for slot, after in wanted.items():
            zone = zone_of(slot[0], self._provider.zones)
            if zone is None:
                raise ValueError(f"{slot[0]} is in none of the zones")
            before = (await self._provider.read(zone)).get(slot)
            if before != after:
                found.setdefault(zone, []).append(Change(slot, (Part(before, after),)))
        return found


def _record(endpoint: Endpoint) -> Record:
    record = record_of(endpoint)
    if record is None:
        raise ValueError(f"{endpoint.dns_name} {endpoint.record_type} can't be a record")
    return record


def _accepts(request: web.Request) -> bool:
    return request.headers.get("Accept", MEDIA_TYPE) == MEDIA_TYPE


def _json(value: object) -> web.Response:
    return web.Response(body=to_json(value), headers={"Content-Type": MEDIA_TYPE})
