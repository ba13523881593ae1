"""Attacks with an API key: every field of every resource, ids, queries and filters."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec

from seamark_edge.rest import access, endpoints, operators, ranges, reserved
from seamark_edge.rest.base import Body
from tests.edge.running import RunningEdge
from tests.hostile.edge.cases import Case, Outcome
from tests.hostile.edge.corpus import CANARY, TEXTS, values, within

PORT = "api"
BODIES: dict[str, type[Body]] = {
    "/api_keys": access.KeyBody,
    "/credentials": access.CredentialBody,
    "/endpoints": endpoints.EndpointBody,
    "/ip_policies": Body,
    "/ip_policy_rules": ranges.RuleBody,
    "/kubernetes_operators": operators.OperatorBody,
    "/reserved_addrs": reserved.AddrBody,
    "/reserved_domains": reserved.DomainBody,
    "/tls_certificates": reserved.CertificateBody,
}
BASES: dict[str, dict[str, object]] = {
    "/endpoints": {"url": "tcp://caller.internal:7", "type": "cloud"},
    "/reserved_domains": {"domain": "caller.example.com"},
    "/kubernetes_operators": {"binding": {"endpoint_selectors": ["true"]}},
}
INNER = {"/kubernetes_operators": ("binding.endpoint_selectors", "binding.csr", "deployment.name")}


class Callers:
    """One HTTP client with a key. Objects that were made are deleted again."""

    def __init__(self, edge: RunningEdge) -> None:
        self.edge = edge
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        if self._session is None:
            headers = {"authorization": f"Bearer {self.edge.api_key}"}
            connector = aiohttp.TCPConnector(limit=24)
            self._session = aiohttp.ClientSession(self.edge.api_url, headers=headers, connector=connector)
        async with self._session.request(method, path, data=body or None) as answer:
            return answer.status, await answer.read()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def cases(callers: Callers) -> Iterator[Case]:
    for path, kind in BODIES.items():
        fields = [field.name for field in msgspec.structs.fields(kind)]
        for field in (*fields, *INNER.get(path, ()), "unknown"):
            for name, value in values():
                body = within(field, value, BASES.get(path, {}))
                yield Case(PORT, f"POST {path} {field} {name}", _made(callers, path, body))
    for path in (*BODIES, "/tunnel_sessions", "/unknown"):
        for name, text in TEXTS.items():
            piece = quote(text[:2000], safe="", errors="replace")
            for method in ("GET", "PATCH", "DELETE"):
                yield Case(PORT, f"{method} {path}/{name}", _asked(callers, method, f"{path}/{piece or '%20'}"))
            for query in ("filter", "limit", "before_id", "url"):
                yield Case(PORT, f"GET {path}?{query} {name}", _asked(callers, "GET", f"{path}?{query}={piece}"))
            yield Case(PORT, f"GET {path}/x/{name}", _asked(callers, "POST", f"{path}/x/{piece or '%20'}", b"{}"))


def _made(callers: Callers, path: str, body: bytes) -> Callable[[], Awaitable[Outcome]]:
    async def make() -> Outcome:
        status, raw = await callers.ask("POST", path, body)
        if status != 201:
            return judged(status, raw)
        made = json.loads(raw)
        outcome = await _used(callers, path, made, body)
        removed, _ = await callers.ask("DELETE", f"{path}/{made['id']}")
        return outcome if removed in (204, 404) else Outcome.CRASHED

    return make


async def _used(callers: Callers, path: str, made: dict[str, Any], body: bytes) -> Outcome:
    """What was made is shown, and can be changed to itself."""
    if path == "/endpoints" and CANARY in str(made.get("url")):
        return Outcome.CROSSED
    seen, raw = await callers.ask("GET", f"{path}/{made['id']}")
    changed, words = await callers.ask("PATCH", f"{path}/{made['id']}", body)
    listed, page = await callers.ask("GET", f"{path}?limit=2")
    for status, answer in ((seen, raw), (changed, words), (listed, page)):
        if judged(status, answer) is Outcome.CRASHED:
            return Outcome.CRASHED
    return Outcome.SERVED if seen == 200 else Outcome.SILENT


def _asked(callers: Callers, method: str, path: str, body: bytes = b"") -> Callable[[], Awaitable[Outcome]]:
    async def ask() -> Outcome:
        return judged(*await callers.ask(method, path, body))

    return ask


def judged(status: int, raw: bytes) -> Outcome:
    if status >= 500 and status != 503:
        return Outcome.CRASHED
    if status < 300:
        return Outcome.SERVED
    return Outcome.REFUSED if b"error_code" in raw or status in (400, 404, 405, 413, 414) else Outcome.SILENT
