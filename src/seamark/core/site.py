"""A page of ours over HTTP: opened at an address that a person wrote, and closed."""

from __future__ import annotations

from aiohttp import web

from seamark.core.errors import UserError


class Site:
    """Serves an application until closed. `what` and `hint` are for whoever named an address that can't be opened."""

    def __init__(self, what: str, hint: str) -> None:
        self._what = what
        self._hint = hint
        self._runner: web.AppRunner | None = None

    async def open(self, app: web.Application, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host.strip("[]") or None, int(port)).start()
        except (OSError, ValueError, OverflowError) as error:  # taken or unknown; no port; no such port
            await self.close()
            raise UserError(f"can't serve {self._what} on {address} ({error})", hint=self._hint) from None

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
