"""Credentials that are loaded again: every minute, as Kubernetes rotates token files, and whenever the server asks.

- One load at a time, in a task of its own and with a deadline: a credential plugin that hangs delays nothing for
  longer,
  and a request that gives up waiting does not end a load that others wait for.
- Whatever fails after the first load (the plugin, a file, a certificate that was read in the middle of its rotation and
  does not match its key), what is in use stays in use, and the next load comes soon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from seamark_runtime.clock import Clock
from seamark_runtime.connection import Connection, Load
from seamark_runtime.errors import UserError

log = structlog.get_logger(__name__)

REREAD = 60.0
RETRY = 5.0  # seconds after a load that failed
DEADLINE = 30.0  # seconds for one load
PATIENCE = 1.0  # seconds for which a request waits for a load that it does not need

Use = Callable[[Connection], Awaitable[None]]  # raises if it can't be used; then nothing has changed


class Renewal:
    def __init__(self, load: Load, use: Use, clock: Clock) -> None:
        self._load = load
        self._use = use
        self._clock = clock
        self._ended = float("-inf")  # when the last load ended
        self._due = float("inf")  # when the next one is due
        self._task: asyncio.Task[None] | None = None  # the load under way

    async def first(self) -> None:
        """Raises what is wrong: without credentials nothing can begin."""
        await self._load_and_use()
        self._loaded(REREAD)

    async def if_due(self) -> None:
        """Starts a load that is due. One request waits for it, a moment; the others use what there is."""
        now = self._clock.monotonic()
        if now > self._due:
            self._due = now + RETRY
            await asyncio.wait((self._start(),), timeout=PATIENCE)

    async def after(self, moment: float) -> None:
        """Returns when a load has ended after that moment."""
        if self._ended < moment:
            await asyncio.shield(self._start())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _start(self) -> asyncio.Task[None]:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._reload(), name="credentials")
        return self._task

    async def _reload(self) -> None:
        try:
            await self._load_and_use()
        except Exception as error:
            log.warning("credentials not read again; those in use stay in use", error=str(error))
            self._loaded(RETRY)
        else:
            self._loaded(REREAD)

    async def _load_and_use(self) -> None:
        try:
            async with asyncio.timeout(DEADLINE):
                connection = await self._load()
        except TimeoutError:
            hint = "run the credential plugin of the kubeconfig by hand to see why"
            raise UserError(f"no credentials within {DEADLINE:g} s", hint=hint) from None
        await self._use(connection)

    def _loaded(self, after: float) -> None:
        self._ended = self._clock.monotonic()
        self._due = self._ended + after
