"""HTTP clients authenticate with a Kubernetes token, or get a 401.

With too many unknown tokens it is a 429, and a 503 while the API server does not answer the review.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
from aiohttp import web

from seamark.console.access import Access, Undecided, User
from seamark.console.budget import TooManyAttempts

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
RETRY_AFTER = 5.0  # seconds after which an API server that gave no answer may be asked again
USER = web.RequestKey("person", User)
TOKEN = web.RequestKey("token", str)


def application(access: Access) -> web.Application:
    """An application in which everything below /api/ needs an authenticated user."""

    @web.middleware
    async def authenticated(request: web.Request, handler: Any) -> web.StreamResponse:
        try:
            if request.path.startswith("/api/"):
                token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
                user = await access.user(token, request.remote or "")
                if user is None:
                    return error_response(401, "a Kubernetes token is needed: kubectl create token NAME creates one")
                request[USER], request[TOKEN] = user, token
            answer: web.StreamResponse = await handler(request)
        except TooManyAttempts as error:
            return error_response(429, error.message, after=error.after)
        except Undecided as error:
            return error_response(503, error.message, after=RETRY_AFTER)
        return answer

    return web.Application(middlewares=[with_security_headers, authenticated])


def json_response(data: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(data), content_type="application/json")


def error_response(status: int, message: str, *, after: float | None = None) -> web.Response:
    """`after`: seconds after which a retry may succeed."""
    headers = {"Retry-After": str(math.ceil(after))} if after is not None else {}
    body = msgspec.json.encode({"error": message})
    return web.Response(body=body, status=status, content_type="application/json", headers=headers)


@web.middleware
async def with_security_headers(request: web.Request, handler: Any) -> web.StreamResponse:
    answer: web.StreamResponse = await handler(request)
    if not answer.prepared:
        answer.headers.update(HEADERS)
    return answer
