"""Whoever asks over HTTP shows a Kubernetes token: known by it, or answered 401."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from seamark.console.access import Access, Person

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
PERSON = web.RequestKey("person", Person)
TOKEN = web.RequestKey("token", str)


def application(access: Access) -> web.Application:
    """One in which whatever is below /api/ is for somebody whom the cluster knows."""

    @web.middleware
    async def known(request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path.startswith("/api/"):
            token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
            person = await access.person(token) if token else None
            if person is None:
                return problem(401, "show a Kubernetes token: kubectl create token NAME makes one")
            request[PERSON], request[TOKEN] = person, token
        answer: web.StreamResponse = await handler(request)
        return answer

    return web.Application(middlewares=[_guarded, known])


def told(data: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(data), content_type="application/json")


def problem(status: int, words: str) -> web.Response:
    return web.Response(body=msgspec.json.encode({"error": words}), status=status, content_type="application/json")


@web.middleware
async def _guarded(request: web.Request, handler: Any) -> web.StreamResponse:
    answer: web.StreamResponse = await handler(request)
    if not answer.prepared:
        answer.headers.update(HEADERS)
    return answer
