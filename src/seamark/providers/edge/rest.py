"""The REST API of an edge: one async client with deadlines, retries and a budget."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import msgspec

from seamark.core.backoff import Backoff
from seamark.core.clock import Clock, SystemClock
from seamark.core.errors import Exists, Gone, Refused, Retry, SeamarkError, Uncertain
from seamark.core.transport import Answer, NoAnswerError, Request
from seamark.providers.edge.calls import Kind
from seamark.providers.edge.model import Fields

PAUSES = Backoff(0.2, 5.0)
TRIES = 3
PAGE = 100
MAX_PAGES = 1000


class Door:
    """Requests to one base URL with one key, over a warm pool of connections. The key is in no message and no repr."""

    def __init__(self, base_url: str, key: str, context: ssl.SSLContext | None = None) -> None:
        self._base = base_url.rstrip("/")
        self._headers = {"authorization": f"Bearer {key}", "ngrok-version": "2", "content-type": "application/json"}
        self._context = context
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: Request) -> Answer:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=8, ssl=self._context or True)
            self._session = aiohttp.ClientSession(connector=connector, headers=self._headers)
        timeout = aiohttp.ClientTimeout(total=request.timeout)
        try:
            async with self._session.request(
                request.method,
                self._base + request.path,
                params=request.query,
                data=request.body or None,
                timeout=timeout,
            ) as response:
                return Answer(response.status, await response.read(), response.headers)
        except aiohttp.ClientConnectorError as error:
            raise NoAnswerError(f"{self._base} is not reached: {error}", sent=False) from error
        except TimeoutError as error:
            raise NoAnswerError(f"{self._base}: no answer within {request.timeout:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise NoAnswerError(f"{self._base}: {type(error).__name__}") from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


@dataclass(slots=True)
class Pace:
    """A budget of requests: so many a minute, spread out once the first burst of a tenth is spent.

    - `turn` waits for the caller's turn; if that would take longer than it can wait, it raises `Retry` with the time.
    """

    per_minute: int
    clock: Clock = field(default_factory=SystemClock)
    patience: float = 10.0
    _free_at: float = 0.0

    async def turn(self) -> None:
        gap, now = 60 / self.per_minute, self.clock.monotonic()
        burst = gap * max(1, self.per_minute // 10)
        start = max(self._free_at, now - burst)
        wait = start - now
        if wait > self.patience:
            raise Retry(f"the budget of {self.per_minute} requests a minute is spent", after=wait)
        self._free_at = start + gap
        if wait > 0:
            await asyncio.sleep(wait)

    def hold(self, seconds: float) -> None:
        """The service said that we are over its limit: nobody asks before this."""
        self._free_at = max(self._free_at, self.clock.monotonic() + seconds)


class Sender:
    """Anything that answers requests; a `Door`, or a test's."""

    async def send(self, request: Request) -> Answer:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


class RestCalls:
    """`Calls` over HTTP.

    - Reads and deletes are tried up to three times; what makes or changes something is sent again only if it surely
      did nothing (429, or never sent).
    - Every request keeps to the pace; a 429 holds all of them back for as long as the service says.
    """

    def __init__(self, door: Door | Sender, pace: Pace, *, timeout: float = 15.0, random: Random | None = None) -> None:
        self._door = door
        self._pace = pace
        self._timeout = timeout
        self._random = random or Random()

    async def listed(self, kind: Kind, *, limit: int = 0, where: str = "") -> list[Fields]:
        query = {"limit": str(limit or PAGE), **({"filter": where} if where else {})}
        return await self._pages(kind.path, kind.key, query, more=not limit)

    async def create(self, kind: Kind, body: Fields) -> Fields:
        return await self._ask("POST", kind.path, body)

    async def update(self, kind: Kind, ident: str, body: Fields) -> Fields:
        return await self._ask("PATCH", f"{kind.path}/{ident}", body)

    async def delete(self, kind: Kind, ident: str) -> None:
        await self._ask("DELETE", f"{kind.path}/{ident}")

    async def bound(self, operator: str) -> list[Fields]:
        return await self._pages(f"{Kind.OPERATORS.path}/{operator}/bound_endpoints", "endpoints", {"limit": str(PAGE)})

    async def close(self) -> None:
        await self._door.close()

    async def _pages(self, path: str, key: str, query: dict[str, str], *, more: bool = True) -> list[Fields]:
        found: list[Fields] = []
        for _ in range(MAX_PAGES):
            page = await self._ask("GET", path, query=query)
            found += page.get(key) or []
            following = page.get("next_page_uri")
            if not following or not more:
                return found
            query = dict(parse_qsl(urlsplit(following).query))
        raise Retry(f"{path} has more than {MAX_PAGES} pages")

    async def _ask(
        self, method: str, path: str, body: Fields | None = None, query: dict[str, str] | None = None
    ) -> Fields:
        raw = msgspec.json.encode(body) if body is not None else b""
        request = Request(method, path, query or {}, raw, timeout=self._timeout)
        for failures in range(TRIES):
            await self._pace.turn()
            try:
                return read(request, await self._door.send(request))
            except NoAnswerError as error:
                again, failure = _unanswered(request, error)
            except Retry as error:
                again, failure = not isinstance(error, Uncertain), error
                if error.after is not None:
                    self._pace.hold(error.after)
            if not again or failures == TRIES - 1:
                raise failure
            await asyncio.sleep(PAUSES.pause(self._random, failures))
        raise AssertionError("unreachable")


def _unanswered(request: Request, error: NoAnswerError) -> tuple[bool, SeamarkError]:
    if not error.sent:
        return True, Retry(str(error))
    if request.method in ("GET", "DELETE"):
        return True, Retry(str(error))
    return False, Uncertain(str(error))


def read(request: Request, answer: Answer) -> Fields:
    """The answer's object, or the error that its status means."""
    if answer.status == 204 or (answer.status < 300 and not answer.body):
        return {}
    try:
        told: Any = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        told = None
    if answer.status < 300 and isinstance(told, dict):
        return told
    if answer.status < 300:
        raise Uncertain("the edge's answer is no JSON object") if request.writes else Retry("the answer is no JSON")
    raise refusal(request, answer, told if isinstance(told, dict) else {})


def refusal(request: Request, answer: Answer, told: Fields) -> SeamarkError:
    code, words = str(told.get("error_code") or ""), str(told.get("msg") or f"HTTP {answer.status}")[:1000]
    where = f"{request.method} {request.path}"
    if answer.status == 429:
        return Retry(f"{where}: {words}", after=_seconds(answer.headers.get("Retry-After")))
    if answer.status >= 500:
        # The edge's own 503 did nothing; a gateway may have passed the write on before it failed.
        surely_not = answer.status == 503 and code
        kind = Uncertain if request.method in ("POST", "PATCH") and not surely_not else Retry
        return kind(f"{where}: {words}")
    if answer.status == 404 and request.path.count("/") > 1:
        return Gone(words)
    if answer.status == 409:
        return Exists(words)
    return Refused(words, reason=code, code=answer.status)


def _seconds(text: str | None) -> float:
    try:
        return min(max(float(text or 1), 0.0), 300.0)
    except ValueError:
        return 1.0
