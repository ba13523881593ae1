"""A page of ours over HTTP: opened at an address that a person wrote, and closed."""

from __future__ import annotations

from aiohttp import web

from seamark_runtime.errors import UserError
from seamark_runtime.guardedhttp import GuardedServer


class Site:
    """Serves an application until closed. `what` and `hint` are part of the error for an address that can't be
    opened."""

    def __init__(self, what: str, hint: str) -> None:
        self._what = what
        self._hint = hint
        self._server: GuardedServer | None = None

    async def open(self, app: web.Application, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._server = GuardedServer(app, shutdown_timeout=1.0)
        try:
            await self._server.start(host.strip("[]") or None, int(port))
        except (OSError, ValueError, OverflowError) as error:  # taken or unknown; no port; no such port
            await self.close()
            raise UserError(f"can't serve {self._what} on {address} ({error})", hint=self._hint) from None

    async def close(self) -> None:
        if self._server is not None:
            await self._server.close()
            self._server = None
