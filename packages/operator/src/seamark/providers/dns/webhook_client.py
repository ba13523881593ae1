"""One request of the webhook protocol, and what its failure means.

- Nothing but `Retry`, `NoResponse`, `Unwritable` and `RecordRefused` is raised, with a message that is stable between
  attempts. Redirects are not followed.
- A request that changes records is fenced: it is not sent once the Lease is lost, however long ago its call began.
- The deadline of a request is for all of it, the body of the response included.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import aiohttp

from seamark.providers.dns.endpoints import MEDIA_TYPE
from seamark.providers.dns.model import NoResponse, RecordRefused, Unwritable
from seamark_runtime.errors import Retry
from seamark_runtime.fencing import ensure_leading
from seamark_runtime.http import describe
from seamark_runtime.untrusted.decoding import Malformed
from seamark_runtime.untrusted.numbers import InvalidNumber, integer

FOR_NOW = (429, 502, 503, 504)  # it is too busy or away: no record is the cause
NOT_ALLOWED = (401, 403, 404, 405, 406, 415)  # it accepts no changes, or none of ours
MAX_RETRY_AFTER = 60  # seconds that it may ask to be let alone for


class Endpoint(NamedTuple):
    """What is requested, and the status that is due."""

    method: str
    path: str
    status: int = 200

    def __str__(self) -> str:
        return f"{self.method} {self.path} of the webhook provider"

    @property
    def changes(self) -> bool:
        return self.status == 204


NEGOTIATE = Endpoint("GET", "/")
RECORDS = Endpoint("GET", "/records")
ADJUST = Endpoint("POST", "/adjustendpoints")
APPLY = Endpoint("POST", "/records", 204)


class WebhookClient:
    """Sends requests to one provider. A connection is used for one request: one that the provider has closed
    meanwhile would fail the next change."""

    def __init__(self, url: str, *, read_timeout: float, write_timeout: float) -> None:
        self._url = url.rstrip("/")
        self._read_timeout = read_timeout
        self._write_timeout = write_timeout
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    @asynccontextmanager
    async def request(self, endpoint: Endpoint, body: bytes | None = None) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response, if its status is the one that is due."""
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True))
        headers = {"Accept": MEDIA_TYPE} | ({"Content-Type": MEDIA_TYPE} if body is not None else {})
        timeout = self._write_timeout if endpoint.changes else self._read_timeout
        if endpoint.changes:
            ensure_leading(str(endpoint))
        try:
            async with (
                asyncio.timeout(timeout),
                self._session.request(
                    endpoint.method,
                    self._url + endpoint.path,
                    data=body and io.BytesIO(body),
                    headers=headers,
                    allow_redirects=False,
                ) as response,
            ):
                if response.status == endpoint.status:
                    _check_type(response, endpoint)
                    yield response
                    return
                status, after = response.status, retry_after(response.headers)
        except TimeoutError:
            raise NoResponse(f"{endpoint}: no answer within {timeout:g} s") from None
        except Malformed as error:
            raise Retry(f"{endpoint} answered nonsense: {error}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: headers that the library can't read
            raise NoResponse(f"{endpoint}: {describe(error)}") from None
        raise _failure(endpoint, status, after)


def _failure(endpoint: Endpoint, status: int, after: float | None) -> Exception:
    problem = f"{endpoint} answered {status}"
    if status in FOR_NOW or not endpoint.changes:
        return Retry(problem, after=after)
    if status in NOT_ALLOWED:
        return Unwritable(problem)
    return RecordRefused(problem, reason=str(status))


def _check_type(response: aiohttp.ClientResponse, endpoint: Endpoint) -> None:
    media_type = response.headers.get("Content-Type", "")
    if not endpoint.changes and media_type != MEDIA_TYPE:
        raise Retry(f"{endpoint} answered with the media type {media_type[:100]!r}, and not {MEDIA_TYPE!r}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of the header Retry-After, up to a minute; a date there counts from the response's own date."""
    text = headers.get("Retry-After", "")
    try:
        return float(min(integer(text, 0, 2**31), MAX_RETRY_AFTER))
    except InvalidNumber:
        sent, until = _date(headers.get("Date", "")), _date(text)
    if sent is None or until is None:
        return None
    return float(min(max(0.0, (until - sent).total_seconds()), MAX_RETRY_AFTER))


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text[:100])
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
