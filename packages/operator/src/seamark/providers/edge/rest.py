"""The REST API of an edge: one async client with deadlines, retries and a budget."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Collection
from random import Random
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import msgspec

from seamark.providers.edge.calls import Kind, request_owner
from seamark.providers.edge.ratelimiter import MAX_CONCURRENT, RateLimiter
from seamark.providers.edge.shapes import SHAPES, BoundItem, CheckedItem, Item, MalformedResponse, checked
from seamark_edge.model import OWNER_HEADER, UNFINISHED, Fields
from seamark_runtime.backoff import Backoff
from seamark_runtime.errors import Exists, Gone, Refused, Retry, SeamarkError, Uncertain
from seamark_runtime.http import url_of
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError
from seamark_runtime.untrusted.bodies import read_body
from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_plain_json
from seamark_runtime.untrusted.names import ApiPath, api_path
from seamark_runtime.untrusted.numbers import InvalidNumber, integer

PAUSES = Backoff(0.2, 5.0)
ATTEMPTS = 3
PAGE = 100
MAX_PAGES = 1000
LIMITS = Limits(size=16 * 2**20, depth=32)  # of one answer: a page of an edge has 4 MiB at most
MAX_LISTING_BYTES = 128 * 2**20  # bytes of a whole listing
MAX_RETRY_AFTER = 300  # seconds, whatever the edge asks for


class NotAdmitted(Retry):
    """The request has not come to the object: our key is not valid, or another than an edge has answered.

    It is no refusal of the object, and removes nothing; at once it would be answered in the same way.
    """


class HttpClient:
    """Requests to one base URL with one key, over a warm pool of connections. The key is in no message and no repr.

    `names_owners`: the service shares the key's budget between the owners that requests name, as Seamark's edge does.
    """

    def __init__(
        self, base_url: str, key: str, context: ssl.SSLContext | None = None, *, names_owners: bool = False
    ) -> None:
        self._base = base_url.rstrip("/")
        self._headers = {"authorization": f"Bearer {key}", "ngrok-version": "2", "content-type": "application/json"}
        self._headers["accept-encoding"] = "identity"  # a few compressed bytes may stand for gigabytes
        self._context = context
        self._names_owners = names_owners
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: HttpRequest) -> Answer:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=MAX_CONCURRENT, ssl=self._context or True)
            self._session = aiohttp.ClientSession(connector=connector, headers=self._headers, auto_decompress=False)
        timeout = aiohttp.ClientTimeout(total=request.timeout)
        owner = request_owner.get() if self._names_owners else ""
        try:
            async with self._session.request(
                request.method,
                url_of(self._base, request),
                data=request.body or None,
                headers={OWNER_HEADER: owner} if owner else None,
                timeout=timeout,
                allow_redirects=False,
            ) as response:
                body = await read_body(response.content.iter_any(), LIMITS.size)
                return Answer(response.status, body, response.headers)
        except aiohttp.ClientConnectorError as error:
            raise NoAnswerError(f"{self._base} is not reached: {error}", sent=False) from error
        except TimeoutError as error:
            raise NoAnswerError(f"{self._base}: no answer within {request.timeout:g} s") from error
        except Malformed as error:
            raise NoAnswerError(f"{self._base}: {error}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: headers that the library can't read
            raise NoAnswerError(f"{self._base}: {type(error).__name__}") from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


class Sender:
    """Anything that answers requests; a `HttpClient`, or a fake."""

    async def send(self, request: HttpRequest) -> Answer:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


class RestCalls:
    """`Calls` over HTTP.

    - Reads and deletes are tried up to three times; what makes or changes something is sent again only if it surely
      did nothing (429, or never sent).
    - Every request keeps to the pace; a 429 delays all of them for its Retry-After, or only those of one owner if the
      service names it.
    """

    def __init__(
        self, client: HttpClient | Sender, limiter: RateLimiter, *, timeout: float = 15.0, random: Random | None = None
    ) -> None:
        self._client = client
        self._limiter = limiter
        self._timeout = timeout
        self._random = random or Random()

    async def listed(self, kind: Kind, *, limit: int = 0, where: str = "") -> list[Fields]:
        query = {"limit": str(limit or PAGE), **({"filter": where} if where else {})}
        return await self._pages(api_path(kind.path), kind.key, SHAPES[kind], query, more=not limit)

    async def create(self, kind: Kind, body: Fields) -> Fields:
        return await self._written("POST", api_path(kind.path), SHAPES[kind], body)

    async def update(self, kind: Kind, ident: str, body: Fields) -> Fields:
        return await self._written("PATCH", api_path(kind.path, ident), SHAPES[kind], body)

    async def delete(self, kind: Kind, ident: str) -> None:
        await self._request("DELETE", api_path(kind.path, ident))

    async def check(self, idents: Collection[str]) -> dict[str, Fields]:
        answer, _ = await self._request("POST", api_path(Kind.ENDPOINTS.path, "check"), {"ids": list(idents)})
        items = answer.get("endpoints")
        if not isinstance(items, list):
            raise Retry("the edge's answer has no list of endpoints")
        try:
            reports = [checked(item, CheckedItem) for item in items]
        except MalformedResponse as error:
            raise Retry(str(error)) from None
        return {item["id"]: item["seamark_upstream"] for item in reports if item["id"] in idents}

    async def bound(self, operator: str) -> list[Fields]:
        path = api_path(Kind.OPERATORS.path, operator, "bound_endpoints")
        return await self._pages(path, "endpoints", BoundItem, {"limit": str(PAGE)})

    async def close(self) -> None:
        await self._client.close()

    async def _written(self, method: str, path: ApiPath, shape: type[Item], body: Fields) -> Fields:
        answer, _ = await self._request(method, path, body)
        try:
            return checked(answer, shape)
        except MalformedResponse as error:
            raise Uncertain(str(error)) from None

    async def _pages(
        self, path: ApiPath, key: str, shape: type[Item], query: dict[str, str], *, more: bool = True
    ) -> list[Fields]:
        found: list[Fields] = []
        total = 0
        for _ in range(MAX_PAGES):
            page, size = await self._request("GET", path, query=query)
            total += size
            if total > MAX_LISTING_BYTES:
                raise Retry(f"{path}: a list of more than {MAX_LISTING_BYTES} bytes")
            try:
                items, following = page_of(page, key)
                found += [checked(item, shape) for item in items]
            except MalformedResponse as error:
                raise Retry(f"{path}: {error}") from None
            if not following or not more:
                return found
            query = following
        raise Retry(f"{path} has more than {MAX_PAGES} pages")

    async def _request(
        self, method: str, path: ApiPath, body: Fields | None = None, query: dict[str, str] | None = None
    ) -> tuple[Fields, int]:
        """What was answered, and how many bytes that were. `Retry` from the pace: nothing was sent."""
        raw = msgspec.json.encode(body) if body is not None else b""
        request = HttpRequest(method, path, query or {}, raw, timeout=self._timeout)
        owner = request_owner.get()
        for failures in range(ATTEMPTS):
            try:
                async with self._limiter.slot(owner):
                    answer = await self._client.send(request)
            except NoAnswerError as error:
                again, failure = _without_response(request, error)
            else:
                try:
                    return read(request, answer), len(answer.body)
                except Retry as error:
                    again, failure = not isinstance(error, Uncertain | NotAdmitted), error
                    if error.after is not None:
                        self._limiter.suspend(error, answer.headers.get(OWNER_HEADER, ""))
            if not again or failures == ATTEMPTS - 1:
                raise failure
            await asyncio.sleep(PAUSES.pause(self._random, failures))
        raise AssertionError("unreachable")


def page_of(page: Fields, key: str) -> tuple[list[Any], dict[str, str]]:
    """The objects of a page, and the query for the next one; {} if there is none."""
    items, following = page.get(key) or [], page.get("next_page_uri") or ""
    if not isinstance(items, list) or not isinstance(following, str):
        raise MalformedResponse("the page of a list is not as it must be")
    try:
        return items, dict(parse_qsl(urlsplit(following).query, max_num_fields=32))
    except ValueError:
        raise MalformedResponse("the address of the next page is none") from None


def _without_response(request: HttpRequest, error: NoAnswerError) -> tuple[bool, SeamarkError]:
    if not error.sent:
        return True, Retry(str(error))
    if request.method in ("GET", "DELETE"):
        return True, Retry(str(error))
    return False, Uncertain(str(error))


def read(request: HttpRequest, answer: Answer) -> Fields:
    """The answer's object, or the error that its status means."""
    if answer.status == 204 or (answer.status < 300 and not answer.body):
        return {}
    try:
        document = decode_plain_json(answer.body, LIMITS)
    except Malformed:
        document = None
    if answer.status < 300 and isinstance(document, dict):
        return document
    if answer.status < 300:
        raise Uncertain("the edge's answer is no JSON object") if request.writes else Retry("the answer is no JSON")
    raise refusal(request, answer, document if isinstance(document, dict) else {})


def refusal(request: HttpRequest, answer: Answer, document: Fields) -> SeamarkError:
    code, message = str(document.get("error_code") or ""), str(document.get("msg") or f"HTTP {answer.status}")[:1000]
    where = f"{request.method} {request.path}"
    if answer.status == 401 or (answer.status < 500 and answer.status != 429 and not code):
        # Not about the object: our key, or no edge has answered (a proxy in front of it, say).
        return NotAdmitted(f"{where}: {message}")
    if answer.status == 429:
        return Retry(f"{where}: {message}", after=_seconds(answer.headers.get("Retry-After")))
    if answer.status == 408 or answer.status >= 500:
        # The edge's own 408 and 503 did nothing, unless its work was cut off; a gateway may have passed the write on.
        surely_not = answer.status in (408, 503) and code not in ("", f"ERR_NGROK_{UNFINISHED}")
        kind = Uncertain if request.method in ("POST", "PATCH") and not surely_not else Retry
        return kind(f"{where}: {message}")
    if answer.status == 404 and request.path.count("/") > 1:
        return Gone(message)
    if answer.status == 409:
        return Exists(message)
    return Refused(message, reason=code, code=answer.status)


def _seconds(text: str | None) -> float:
    """The header Retry-After; a second where there is none, or a date."""
    try:
        return float(min(integer(text or "1", 0, 2**31), MAX_RETRY_AFTER))
    except InvalidNumber:
        return 1.0
