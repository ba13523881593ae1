"""Health, readiness and metrics over HTTP.

- /healthz: the process turns. /readyz: every controller has its sources; what is missing is named. /metrics.
- /loglevel?level=debug (PUT) changes the log level while the program runs; only for callers on this very machine
  (`kubectl port-forward` is one), as callers are not authenticated.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from seamark_runtime import log
from seamark_runtime.site import Site


class HealthServer:
    """Serves until closed. `missing` names what is not ready yet; empty means ready."""

    def __init__(self, registry: CollectorRegistry, missing: Callable[[], list[str]]) -> None:
        self._registry = registry
        self._missing = missing
        self._site = Site("health", "set SEAMARK_HEALTH_ADDRESS to another one, or to nothing for none")

    async def start(self, address: str) -> None:
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_put("/loglevel", change_level)
        await self._site.open(app, address)

    async def close(self) -> None:
        await self._site.close()

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _request: web.Request) -> web.Response:
        missing = self._missing()
        return web.Response(text="\n".join(missing or ["ok"]) + "\n", status=503 if missing else 200)

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def change_level(request: web.Request) -> web.Response:
    if not local(request.remote or ""):
        return web.Response(text="the log level is changed from this machine only: kubectl port-forward\n", status=403)
    level = request.query.get("level", "")
    if level not in ("debug", "info", "warning", "error"):
        return web.Response(text="level must be debug, info, warning or error\n", status=400)
    log.configure(level)
    return web.Response(text=f"{level}\n")


def local(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)
