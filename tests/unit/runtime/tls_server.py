"""A tiny HTTPS server on loopback, to see what really goes over the wire."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from seamark_cluster.real.pki import Pki

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def fine(_request: web.Request) -> web.StreamResponse:
    return web.json_response({"ok": True})


@dataclass
class Seen:
    """What arrived: the requests with their headers, and the name in the client's certificate."""

    url: str = ""
    requests: list[web.Request] = field(default_factory=list)
    subjects: list[str] = field(default_factory=list)
    peers: set[object] = field(default_factory=set)

    @property
    def tokens(self) -> list[str]:
        return [request.headers.get("Authorization", "") for request in self.requests]


@asynccontextmanager
async def serving(
    pki: Pki | None, handler: Handler = fine, *, name: str = "127.0.0.1", ask_certificate: bool = False
) -> AsyncIterator[Seen]:
    """Serves until left; with a `pki` over TLS, under a certificate for `name`."""
    seen = Seen()

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.requests.append(request)
        assert request.transport is not None
        seen.peers.add(request.transport.get_extra_info("peername"))
        certificate = request.transport.get_extra_info("peercert")
        if certificate:
            seen.subjects.append(dict(part[0] for part in certificate["subject"])["commonName"])
        return await handler(request)

    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)  # type: ignore[arg-type]  # any response will do
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context(pki, name, ask=ask_certificate) if pki else None)
    await site.start()
    host, port = runner.addresses[0][:2]
    seen.url = f"{'https' if pki else 'http'}://{host}:{port}"
    try:
        yield seen
    finally:
        await runner.cleanup()
        with contextlib.suppress(Exception):
            await asyncio.sleep(0)


def context(pki: Pki, name: str, *, ask: bool) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate, key = pki.server(f"server-{name}", (name,))
    made.load_cert_chain(certificate, key)
    if ask:
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(pki.ca_cert)
    return made


def pki_in(folder: Path) -> Pki:
    return Pki(folder / "pki")
