"""Which operators lead, for the console: looked at every few seconds, since a Lease changes with each renewal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import structlog

from seamark.explain.leadership import Leadership, leadership
from seamark.explain.reader import Reader
from seamark_runtime.errors import SeamarkError
from seamark_runtime.rbac import Grant
from seamark_runtime.transport import Transport

log = structlog.get_logger(__name__)

EVERY = 5.0  # seconds between two looks

GRANTS = {Grant("coordination.k8s.io", "leases", "list")}


@dataclass
class Leaders:
    """The leadership that was read last; notifies subscribers of changes. Without an answer the last one stays."""

    now: Leadership = field(default_factory=Leadership)
    _listeners: list[Callable[[], None]] = field(default_factory=list)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def update(self, found: Leadership) -> None:
        if found == self.now:
            return
        self.now = found
        for listener in list(self._listeners):
            listener()

    def shown(self) -> list[dict[str, Any]]:
        """The operators that are stopped, without the names of their Leases: users may not be allowed to read those."""
        return [{"families": list(lease.families), "asOf": lease.as_of} for lease in self.now.stopped]

    async def follow(self, transport: Transport) -> None:
        """Runs until cancelled."""
        while True:
            try:
                self.update(await leadership(Reader(transport)))
            except SeamarkError as error:
                log.info("leases not read", error=error.message)
            await asyncio.sleep(EVERY)
