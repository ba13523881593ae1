"""HTTP clients authenticate with a Kubernetes token, or get a 401.

With too many unknown tokens it is a 429, and a 503 while the API server can't say whose the token is.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
from aiohttp import web

from seamark.console.access import Access, Person, Undecided
from seamark.console.budget import TooManyAttempts

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
SOON = 5.0  # seconds after which an API server that gave no answer may be asked again
PERSON = web.RequestKey("person", Person)
TOKEN = web.RequestKey("token", str)


def application(access: Access) -> web.Application:
    """An application in which everything below /api/ needs an authenticated user."""

    @web.middleware
    async def known(request: web.Request, handler: Any) -> web.StreamResponse:
        try:
            if request.path.startswith("/api/"):
                token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
                person = await access.person(token, request.remote or "")
                if person is None:
                    return problem(401, "show a Kubernetes token: kubectl create token NAME makes one")
                request[PERSON], request[TOKEN] = person, token
            answer: web.StreamResponse = await handler(request)
        except TooManyAttempts as error:
            return problem(429, error.message, after=error.after)
        except Undecided as error:
            return problem(503, error.message, after=SOON)
        return answer

    return web.Application(middlewares=[_guarded, known])


def told(data: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(data), content_type="application/json")


def problem(status: int, words: str, *, after: float | None = None) -> web.Response:
    """`after`: seconds, if it is worth to ask again."""
    headers = {"Retry-After": str(math.ceil(after))} if after is not None else {}
    body = msgspec.json.encode({"error": words})
    return web.Response(body=body, status=status, content_type="application/json", headers=headers)


@web.middleware
async def _guarded(request: web.Request, handler: Any) -> web.StreamResponse:
    answer: web.StreamResponse = await handler(request)
    if not answer.prepared:
        answer.headers.update(HEADERS)
    return answer
