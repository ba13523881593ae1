"""A webhook provider: somebody else's program that speaks ExternalDNS's webhook protocol over HTTP.

- It is one zone, "": the whole of what the other program serves. Which names it serves is asked once it answers.
- It answers with no word about single records, so blame is found by halving; what counts is what `GET /records` shows.
- Its changes are not atomic: ownership is written first and removed last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar

import aiohttp
import msgspec

from seamark.core.errors import Retry
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

T = TypeVar("T")
EVERYTHING = ""
BATCH = 200  # changes in a message
LARGEST = 256 * 1024 * 1024  # bytes of an answer


class WebhookProvider:
    """A client of the protocol. A 5xx is for now; any other answer than the one that is due is a refusal."""

    set_identifiers = True
    adjusts = True

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None
        self._content: Content | None = None
        self._filter: DomainFilter | None = None
        self._lock = asyncio.Lock()
        self.updates = 0

    @property
    def zones(self) -> tuple[str, ...]:
        return (EVERYTHING,)

    async def negotiate(self) -> DomainFilter:
        """Which names it serves."""
        return self._decoded(await self._ask("GET", "/", 200), DomainFilter)

    async def read(self, zone: str) -> Content:
        async with self._lock:
            if self._filter is None:
                self._filter = await self.negotiate()
            body = await self._ask("GET", "/records", 200)
            endpoints: tuple[Endpoint, ...] = self._decoded(body or b"[]", tuple[Endpoint, ...])
            names: dict[str, tuple[Record, ...]] = {}
            for endpoint in endpoints:
                if (record := record_of(endpoint)) is not None:
                    names[record.name] = (*names.get(record.name, ()), record)
            names = {name: tuple(sorted(some, key=lambda record: record.slot)) for name, some in names.items()}
            if self._content is None:
                self._content = Content(zone, 0, names)
            elif self._content.names != names:
                self._content = self._content.replaced(self._content.serial + 1, names)
            return self._content

    async def apply(self, zone: str, changes: Sequence[Change]) -> None:
        current = await self.read(zone)  # the protocol has no prerequisites: what is not as it was read is not sent
        moved = [change for change in changes if any(current.get(p.record.slot) != p.before for p in change.parts)]
        if moved:
            raise Moved(f"{moved[0].slot[0]} is not as it was read")
        outside = [change for change in changes if self._filter and not self._filter.serves(change.slot[0])]
        if outside:
            raise RecordRefused(f"the webhook provider does not serve {outside[0].slot[0]}", reason="Filtered")
        for message in split(tuple(changes)):
            if not is_empty(message):
                self.updates += 1
                await self._ask("POST", "/records", 204, to_json(message))

    async def adjust(self, records: Sequence[Record]) -> list[Record]:
        """The records as the provider would rather have them."""
        body = to_json([endpoint_of(record) for record in records])
        answer = await self._ask("POST", "/adjustendpoints", 200, body)
        endpoints: tuple[Endpoint, ...] = self._decoded(answer, tuple[Endpoint, ...])
        return [record for endpoint in endpoints if (record := record_of(endpoint)) is not None]

    def weigh(self, change: Change) -> float:
        return 1.0 / BATCH

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(self, method: str, path: str, due: int, body: bytes | None = None) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        headers = {"Accept": MEDIA_TYPE} | ({"Content-Type": MEDIA_TYPE} if body is not None else {})
        limit = aiohttp.ClientTimeout(total=self._timeout)
        place = f"{method} {path} of the webhook provider"
        try:
            async with self._session.request(
                method, self._url + path, data=body, headers=headers, timeout=limit
            ) as response:
                if response.status == due:
                    self._right_type(response, place, wanted=due != 204)
                    return await response.content.read(LARGEST)
                words = f"{place} answered {response.status}"
        except TimeoutError:
            raise Retry(f"{place}: no answer within {self._timeout:g} s") from None
        except aiohttp.ClientError as error:
            raise Retry(f"{place}: {error}") from None
        if path == "/records" and method == "POST":
            if response.status in (401, 403, 404, 405, 406, 415):
                raise Unwritable(words)
            raise RecordRefused(words, reason=str(response.status))
        raise Retry(words)

    def _right_type(self, response: aiohttp.ClientResponse, place: str, *, wanted: bool) -> None:
        said = response.headers.get("Content-Type", "")
        if wanted and said != MEDIA_TYPE:
            raise Retry(f"{place} answered with the media type {said!r}, and not {MEDIA_TYPE!r}")

    def _decoded(self, body: bytes, shape: type[T] | Any) -> T:
        try:
            found: T = msgspec.json.decode(body or b"{}", type=shape)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Retry(f"the webhook provider answered nonsense: {error}") from None
        return found
