"""What fails for one object alone: counted, logged and reported on that object, in one place.

- Whatever runs per object (decoding, index functions, listeners, a reconcile) is called where an exception can be
  caught for that object; nothing of it ends a task. Each such place hands a `Failure` to the one `Failures`.
- An event is sent only while this process leads; `lead` reports what is broken at that moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from seamark_runtime.api.meta import ObjectMeta, Resource
from seamark_runtime.events import Events, Notice
from seamark_runtime.metrics import Metrics

log = structlog.get_logger(__name__)

LONGEST = 500  # characters of an exception's text in a message

DECODE, INDEX, LISTENER, READ, RECONCILE = "decode", "index", "listener", "read", "reconcile"
COMPANION = "companion"

NOTICES = {
    DECODE: ("Unreadable", "Seamark can't read this object and ignores it until it changes"),
    INDEX: ("Unreadable", "Seamark can't process this object and ignores it until it changes"),
    RECONCILE: (
        "InternalError",
        "Seamark failed on this object; its status may be out of date. The operator's log says more",
    ),
}


@dataclass(frozen=True, slots=True)
class Failure:
    """At which stage, for which object, and why. Without metadata it concerns no single object."""

    stage: str
    resource: str | Resource
    metadata: ObjectMeta | None = None
    message: str = ""

    @property
    def kind(self) -> str:
        return self.resource.kind if isinstance(self.resource, Resource) else self.resource


def described(error: BaseException) -> str:
    """An exception as a message shows it."""
    return f"{type(error).__name__}: {error}"[:LONGEST]


def log_failure(failure: Failure) -> None:
    meta = failure.metadata
    where = f"{meta.namespace}/{meta.name}" if meta else ""
    log.warning("failed for one object", stage=failure.stage, kind=failure.kind, object=where, error=failure.message)


class Failures:
    def __init__(self, metrics: Metrics, events: Events) -> None:
        self._metrics = metrics
        self._events = events
        self._leading = False

    def report(self, failure: Failure) -> None:
        self._metrics.object_failures.labels(failure.kind, failure.stage).inc()
        log_failure(failure)
        self._send_event(failure)

    def lead(self, broken: Iterable[Failure]) -> None:
        """This process leads from now on. `broken` was found before: its events have yet to be sent."""
        self._leading = True
        for failure in broken:
            self._send_event(failure)

    def follow(self) -> None:
        """This process does not lead any more."""
        self._leading = False

    def _send_event(self, failure: Failure) -> None:
        if not self._leading or failure.metadata is None or not isinstance(failure.resource, Resource):
            return
        reason, message = NOTICES[failure.stage]
        if failure.message:
            message = f"{message}: {failure.message}"
        self._events.report(failure.resource, failure.metadata, Notice(reason, message))
