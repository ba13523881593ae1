"""Serves a provider of ours to any client of ExternalDNS's webhook protocol, ExternalDNS itself included."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import structlog
from aiohttp import web

from seamark.providers.dns.endpoints import MEDIA_TYPE, DomainFilter, Endpoint, endpoint_of, record_of, to_json
from seamark.providers.dns.isolate import Outcome, apply_each
from seamark.providers.dns.model import Change, Content, Part, Provider, Record, Slot, zone_of
from seamark_runtime.errors import SeamarkError
from seamark_runtime.timeslice import TimeSlice
from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_json

log = structlog.get_logger(__name__)
MESSAGE = Limits(size=16 * 1024 * 1024, depth=10)
ENDPOINT = Limits(size=1024 * 1024, depth=10)
MAX_REPORTED = 10  # refused records that an error names
MAX_ERROR_LENGTH = 2000  # characters of an error


class RawChanges(msgspec.Struct, frozen=True, rename="camel"):
    """What `POST /records` carries, its records not decoded yet. Of an update only what is new counts."""

    create: tuple[msgspec.Raw, ...] | None = None
    update_new: tuple[msgspec.Raw, ...] | None = None
    delete: tuple[msgspec.Raw, ...] | None = None


class WebhookServer:
    """The four requests of the protocol, and /healthz.

    - `GET /`: the zones, as a domain filter. `GET /records`: everything. `POST /adjustendpoints`: as the provider would
      rather have them, in our spelling.
    - `POST /records`: 204 when all of it is live. A refusal of one record applies the others, and is a 400.
    - What can't be read is a 400 that names the record, and changes nothing. The protocol knows the status of an error
      alone: its body (`{"error": …}`) is for people.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.app = web.Application(client_max_size=MESSAGE.size)
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
            raw = decode_json(await request.read(), tuple[msgspec.Raw, ...], MESSAGE)
            endpoints = await _endpoints("record", raw)
        except Malformed as error:
            return _refused(str(error))
        read = [(endpoint, record_of(endpoint)) for endpoint in endpoints]
        records = {record.slot: endpoint for endpoint, record in read if record is not None}
        unreadable = [endpoint for endpoint, record in read if record is None]
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
            by_zone = await self._changes(decode_json(await request.read(), RawChanges, MESSAGE))
        except Malformed as error:
            log.warning("changes can't be read", error=str(error))
            return _refused(str(error))
        except SeamarkError as error:
            log.warning("the records can't be read", error=error.message)
            return web.Response(status=500)
        return await self._applied(by_zone)

    async def _applied(self, by_zone: dict[str, list[Change]]) -> web.Response:
        outcome = Outcome()
        try:
            for zone, changes in by_zone.items():
                await apply_each(self._provider, zone, changes, outcome)
        except SeamarkError as error:
            log.warning("the zone takes no changes", error=error.message)
            return web.Response(status=500)
        for change, message in outcome.refused.items():
            log.warning("a record was refused", record=" ".join(change.slot), error=message)
        if outcome.moved:
            return web.Response(status=500)  # read again, and it will go
        if outcome.refused:
            return _refused(
                "; ".join(f"{change}: {message}" for change, message in list(outcome.refused.items())[:MAX_REPORTED])
            )
        return web.Response(status=204)

    async def _changes(self, requested: RawChanges) -> dict[str, list[Change]]:
        """What is wanted against what is there. A slot may be in one list only."""
        wanted: dict[Slot, Record | None] = {}
        for endpoint in await _endpoints("delete", requested.delete or ()):
            wanted[_record(endpoint).slot] = None
        for place, items in (("create", requested.create), ("updateNew", requested.update_new)):
            for endpoint in await _endpoints(place, items or ()):
                record = _record(endpoint)
                wanted[record.slot] = record
        found: dict[str, list[Change]] = {}
        contents: dict[str, Content] = {}
        for slot, after in wanted.items():
            zone = zone_of(slot[0], self._provider.zones)
            if zone is None:
                raise Malformed(f"{slot[0]} is in none of the zones")
            if zone not in contents:
                contents[zone] = await self._provider.read(zone)
            before = contents[zone].get(slot)
            if before != after and not (before is not None and before.means(after)):
                found.setdefault(zone, []).append(Change(slot, (Part(before, after),)))
        return found


def _record(endpoint: Endpoint) -> Record:
    record = record_of(endpoint)
    if record is None:
        raise Malformed(f"{endpoint.dns_name[:80]!r} {endpoint.record_type[:20]!r} can't be a record")
    return record


async def _endpoints(place: str, items: Sequence[msgspec.Raw]) -> list[Endpoint]:
    """Decoded one by one: the first that can't be decoded is named by its position, and a long list delays no other
    request."""
    pace, found = TimeSlice(), list[Endpoint]()
    for number, item in enumerate(items):
        await pace.turn()
        try:
            found.append(decode_json(bytes(item), Endpoint, ENDPOINT))
        except Malformed as error:
            raise Malformed(f"{place}[{number}]: {error}") from None
    return found


def _accepts(request: web.Request) -> bool:
    return request.headers.get("Accept", MEDIA_TYPE) == MEDIA_TYPE


def _refused(message: str) -> web.Response:
    return web.json_response({"error": message[:MAX_ERROR_LENGTH]}, status=400)


def _json(value: object) -> web.Response:
    return web.Response(body=to_json(value), headers={"Content-Type": MEDIA_TYPE})
