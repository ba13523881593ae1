"""Errors of the edge itself while serving a connection: counted, logged at a bounded rate, and survived.

What a peer does wrong is a `Refusal` or an error of the protocol and is answered. Everything else that is raised while
a connection is served ends that connection and is reported here; no other connection notices.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from seamark_edge.edge.metrics import EdgeMetrics

log = structlog.get_logger(__name__)

LOGGED, PERIOD = 10, 60.0  # so many tracebacks in so many seconds; the metric counts all of them


class Failures:
    """Counts what was raised where nothing should have been. Logs at most ten of them a minute, with their number."""

    def __init__(self, metrics: EdgeMetrics) -> None:
        self.metrics = metrics
        self._since = 0.0
        self._logged = 0
        self._left_out = 0

    def report(self, where: str, error: BaseException | None) -> None:
        self.metrics.failures.labels(where).inc()
        now = time.monotonic()
        if now - self._since > PERIOD:
            self._since, self._logged = now, 0
        if self._logged >= LOGGED:
            self._left_out += 1
            return
        self._logged += 1
        log.error("internal error", where=where, left_out=self._left_out, exc_info=error)
        self._left_out = 0

    @contextmanager
    def contained(self, where: str) -> Iterator[None]:
        """Whatever is raised inside is reported and goes no further."""
        try:
            yield
        except Exception as error:
            self.report(where, error)

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """What escapes from a callback or a task is reported, too, and its connection is closed."""
        loop.set_exception_handler(self._escaped)

    def _escaped(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None:
            loop.default_exception_handler(context)
            return
        if not isinstance(error, OSError):  # the network's own errors end connections by themselves
            self.report("loop", error)
        if (transport := context.get("transport")) is not None:
            transport.abort()
