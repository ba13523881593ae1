"""A webhook provider: an external program with ExternalDNS's webhook protocol over HTTP.

- It is one zone, "": the whole of what the other program serves. Which names it serves is asked with the first reading,
  and again after `FILTER_SECONDS` seconds: its settings may have changed.
- It does not report single records, so a refused one is found by halving; what counts is what `GET /records` shows.
- Its changes are not atomic: ownership is written first and removed last.
- Answers are read whole, up to a limit, within one deadline, and decoded record by record while they arrive. Whatever
  the other program answers raises `Retry`, `Unwritable` or `RecordRefused`, and nothing else.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import aiohttp

from seamark.providers.dns.domains import Domains, InvalidFilter
from seamark.providers.dns.endpoints import (
    MEDIA_TYPE,
    DomainFilter,
    Endpoint,
    endpoint_of,
    is_empty,
    record_of,
    split,
    to_json,
)
from seamark.providers.dns.model import Change, Content, Moved, Record, RecordRefused, Unwritable
from seamark_runtime.errors import Retry
from seamark_runtime.http import describe
from seamark_runtime.timeslice import TimeSlice
from seamark_runtime.untrusted.bodies import JsonArray, bounded, read_body
from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_json
from seamark_runtime.untrusted.numbers import InvalidNumber, integer

EVERYTHING = ""
BATCH = 200  # changes in a message
LARGEST = 64 * 1024 * 1024  # bytes of an answer
CHUNK = 64 * 1024  # bytes that are looked at in one go
FILTER = Limits(size=1024 * 1024, depth=10)
ENDPOINT = Limits(size=1024 * 1024, depth=10)
FILTER_SECONDS = 30.0  # seconds
FOR_NOW = (429, 502, 503, 504)  # it is too busy or away: no record is the cause
MAX_RETRY_AFTER = 60  # seconds that it may ask to be let alone for


class WebhookProvider:
    """A client of the protocol. A 5xx is for now; any other answer than the one that is due is a refusal."""

    set_identifiers = True
    adjusts = True

    def __init__(self, url: str, *, timeout: float = 10.0, largest: int = LARGEST) -> None:
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._largest = largest
        self._session: aiohttp.ClientSession | None = None
        self._content: Content | None = None
        self._filter: Domains | None = None
        self._filter_read = 0.0  # when `_filter` was answered, by the loop's clock
        self._lock = asyncio.Lock()
        self.updates = 0

    @property
    def zones(self) -> tuple[str, ...]:
        return (EVERYTHING,)

    async def negotiate(self) -> Domains:
        """Which names it serves. A filter that can't be applied serves nothing: it is an error of the zone."""
        async with self._request("GET", "/", 200) as response:
            body = await read_body(response.content.iter_chunked(CHUNK), FILTER.size)
            try:
                return decode_json(body, DomainFilter, FILTER).domains()
            except InvalidFilter as error:
                raise Malformed(f"its domain filter can't be applied: {error}") from None

    async def read(self, zone: str) -> Content:
        async with self._lock:
            if self._filter is None or asyncio.get_running_loop().time() > self._filter_read + FILTER_SECONDS:
                self._filter = await self.negotiate()
                self._filter_read = asyncio.get_running_loop().time()
            found: dict[str, list[Record]] = {}
            for record in await self._records("GET", "/records"):
                found.setdefault(record.name, []).append(record)
            known = self._content or Content(zone, 0, {})
            changed = await _differences(known, found)
            if self._content is None:
                self._content = Content(zone, 0, changed)
            elif changed:
                self._content = known.amended(known.serial + 1, changed)
            return self._content

    async def apply(self, zone: str, changes: Sequence[Change]) -> None:
        current = await self.read(zone)  # the protocol has no prerequisites: what is not as it was read is not sent
        moved = [change for change in changes if any(current.get(p.record.slot) != p.before for p in change.parts)]
        if moved:
            raise Moved(f"{moved[0].slot[0]} is not as it was read")
        outside = [change for change in changes if self._filter and not self._filter.match(change.slot[0])]
        if outside:
            raise RecordRefused(f"the webhook provider does not serve {outside[0].slot[0]}", reason="Filtered")
        for message in split(tuple(changes)):
            if not is_empty(message):
                self.updates += 1
                async with self._request("POST", "/records", 204, to_json(message)):
                    pass

    async def adjust(self, records: Sequence[Record]) -> list[Record]:
        """The records as the provider would rather have them."""
        body = to_json([endpoint_of(record) for record in records])
        return await self._records("POST", "/adjustendpoints", body)

    def weigh(self, change: Change) -> float:
        return 1.0 / BATCH

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _records(self, method: str, path: str, body: bytes | None = None) -> list[Record]:
        """The records of an answer, decoded as they arrive; those that no name server could hold are left out."""
        array, pace, found, number = JsonArray(ENDPOINT.size), TimeSlice(), list[Record](), 0
        async with self._request(method, path, 200, body) as response:
            async for chunk in bounded(response.content.iter_chunked(CHUNK), self._largest):
                await pace.turn()
                for item in array.feed(chunk):
                    await pace.turn()
                    if (record := record_of(_endpoint(item, number))) is not None:
                        found.append(record)
                    number += 1
            array.end()
        return found

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, due: int, body: bytes | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response, if its status is the one that is due. The deadline is for all of it, the body included."""
        if self._session is None:
            # A connection for each request: one that the provider has closed meanwhile would fail the next change.
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True))
        headers = {"Accept": MEDIA_TYPE} | ({"Content-Type": MEDIA_TYPE} if body is not None else {})
        place = f"{method} {path} of the webhook provider"
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._session.request(
                    method, self._url + path, data=body and io.BytesIO(body), headers=headers, allow_redirects=False
                ) as response,
            ):
                if response.status == due:
                    self._right_type(response, place, wanted=due != 204)
                    yield response
                    return
                status, after = response.status, _seconds(response.headers.get("Retry-After"))
        except TimeoutError:
            raise Retry(f"{place}: no answer within {self._timeout:g} s") from None
        except Malformed as error:
            raise Retry(f"{place} answered nonsense: {error}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: headers that the library can't read
            raise Retry(f"{place}: {describe(error)}") from None
        problem = f"{place} answered {status}"
        if status in FOR_NOW:
            raise Retry(problem, after=after)
        if path == "/records" and method == "POST":
            if status in (401, 403, 404, 405, 406, 415):
                raise Unwritable(problem)
            raise RecordRefused(problem, reason=str(status))
        raise Retry(problem)

    def _right_type(self, response: aiohttp.ClientResponse, place: str, *, wanted: bool) -> None:
        media_type = response.headers.get("Content-Type", "")
        if wanted and media_type != MEDIA_TYPE:
            raise Retry(f"{place} answered with the media type {media_type[:100]!r}, and not {MEDIA_TYPE!r}")


def _seconds(text: str | None) -> float | None:
    """The header Retry-After, up to a minute; None where there is none, or a date."""
    try:
        return float(min(integer(text or "", 0, 2**31), MAX_RETRY_AFTER))
    except InvalidNumber:
        return None


async def _differences(known: Content, found: Mapping[str, list[Record]]) -> dict[str, tuple[Record, ...]]:
    """The names at which there is something else now, with what is there; nothing for names that are gone."""
    pace = TimeSlice()
    changed: dict[str, tuple[Record, ...]] = {}
    for name, records in found.items():
        await pace.turn()
        now = tuple(sorted(records, key=lambda record: record.slot))
        if now != known.at(name):
            changed[name] = now
    for name in known.names:
        await pace.turn()
        if name not in found:
            changed[name] = ()
    return changed


def _endpoint(item: bytes, number: int) -> Endpoint:
    try:
        return decode_json(item, Endpoint, ENDPOINT)
    except Malformed as error:
        raise Malformed(f"record {number}: {error}") from None
