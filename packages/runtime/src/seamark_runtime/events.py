"""Events: what happened, reported once.

- One when an object's summary condition turns False, one when it has recovered, one for a notice; none for becoming
  True at birth. The first failure waits for a moment, and is dropped if the object recovers (`HeldWarnings`).
- Never one per reconcile: the same text about the same object is counted into a series instead.
- The name of an event follows from what it says, so a restarted operator does not say it again.
- Sent beside the workers from a bounded queue. The API server refusing one costs that event, and a metric.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict, deque
from dataclasses import dataclass
from random import Random

import structlog

from seamark_runtime.api.events import Event, ObjectReference
from seamark_runtime.api.meta import Condition, Key, Object, ObjectMeta, Resource
from seamark_runtime.backoff import Backoff
from seamark_runtime.client import Client
from seamark_runtime.clock import Clock, micro_timestamp
from seamark_runtime.conditions import FALSE, TRUE
from seamark_runtime.errors import Exists, Gone, Retry, SeamarkError
from seamark_runtime.heldwarnings import HeldWarnings
from seamark_runtime.metrics import Metrics
from seamark_runtime.redaction import redact

log = structlog.get_logger(__name__)

LONGEST_NOTE = 1024
WINDOW = 360.0  # seconds in which the same words are one series
TRIES = 5
BACKOFF = Backoff(first=0.5, most=30.0)


@dataclass(frozen=True)
class Notice:
    """Something a user should know that no condition shows."""

    reason: str
    message: str
    warning: bool = True


@dataclass(frozen=True, slots=True)
class _About:
    """The object of an event: where its kind is served, and its metadata."""

    resource: Resource
    metadata: ObjectMeta


@dataclass(slots=True)
class _Series:
    at: float
    count: int = 1
    reported: int = 1


class Events:
    def __init__(self, client: Client, clock: Clock, metrics: Metrics, instance: str, limit: int = 1000) -> None:
        self._client = client
        self._clock = clock
        self._metrics = metrics
        self._instance = instance
        self._limit = limit
        self._random = Random(instance)
        self._series: OrderedDict[str, _Series] = OrderedDict()
        self._down: OrderedDict[str, None] = OrderedDict()  # objects with a reported failure, not yet recovered
        self._held = HeldWarnings(self._failed, 10 * limit)
        self._pending: deque[tuple[Event, int]] = deque()
        self._added = asyncio.Event()

    def flip(self, obj: Object, before: Condition | None, after: Condition) -> None:
        """The summary condition of an object changed its status: reported when it fails, and when it has recovered."""
        was_down = obj.uid in self._down or (before is not None and before.status == FALSE)
        if after.status == FALSE:
            if not self._held.hold(obj, after):
                self._failed(obj, after)
        elif after.status == TRUE:
            self._down.pop(obj.uid, None)
            if not self._held.drop(obj.uid) and was_down:
                self._report_condition(obj, after)

    def changed(self, obj: Object, condition: Condition) -> None:
        """The summary condition has the same status, for another reason or with another message."""
        self._held.update(obj, condition)

    def gone(self, resource: Resource, key: Key) -> None:
        """The object is deleted: nothing that is held about it is reported."""
        self._held.gone(resource, key)

    @property
    def held(self) -> int:
        """How many warnings wait."""
        return len(self._held)

    def _failed(self, obj: Object, condition: Condition) -> None:
        self._down[obj.uid] = None
        while len(self._down) > 10 * self._limit:
            self._down.popitem(last=False)
        self._report_condition(obj, condition)

    def _report_condition(self, obj: Object, condition: Condition) -> None:
        about = _About(obj.RESOURCE, obj.metadata)
        moment = condition.last_transition_time
        self._report(about, condition.reason, condition.message, warning=condition.status == FALSE, moment=moment)

    def notice(self, obj: Object, notice: Notice) -> None:
        self.report(obj.RESOURCE, obj.metadata, notice)

    def report(self, resource: Resource, metadata: ObjectMeta, notice: Notice) -> None:
        """About an object of which only the metadata is known."""
        about = _About(resource, metadata)
        self._report(about, notice.reason, notice.message, warning=notice.warning, moment="")

    def _report(self, about: _About, reason: str, note: str, *, warning: bool, moment: str) -> None:
        note = redact(note, LONGEST_NOTE)
        name = event_name(about.metadata, reason, note, moment)
        now = self._clock.monotonic()
        series = self._series.get(name)
        if series is not None:
            series.count += 1
            if now - series.at < WINDOW:
                return
            series.at, series.reported = now, series.count
        else:
            series = self._series[name] = _Series(now)
            self._metrics.notices.labels(about.resource.kind, reason).inc()
            while len(self._series) > 10 * self._limit:
                self._series.popitem(last=False)
        if len(self._pending) >= self._limit:
            self._metrics.events_dropped.inc()
            return
        self._pending.append((self._event(name, about, reason, note, warning=warning), series.count))
        self._added.set()

    def _event(self, name: str, about: _About, reason: str, note: str, *, warning: bool) -> Event:
        resource, metadata = about.resource, about.metadata
        return Event(
            metadata=ObjectMeta(name=name, namespace=metadata.namespace or "default"),
            event_time=micro_timestamp(self._clock.wall()),
            reporting_controller=self._client.manager,
            reporting_instance=self._instance,
            action="Reconcile",
            reason=reason,
            note=shortened(note),
            type="Warning" if warning else "Normal",
            regarding=ObjectReference(
                api_version=resource.api_version,
                kind=resource.kind,
                name=metadata.name,
                namespace=metadata.namespace,
                uid=metadata.uid,
            ),
        )

    async def run(self) -> None:
        try:
            await self._deliver_all()
        finally:
            self._held.close()

    async def _deliver_all(self) -> None:
        while True:
            while self._pending:
                event, count = self._pending.popleft()
                try:
                    await self._deliver(event, count)
                except Exception:
                    log.exception("event not sent: this is a bug in Seamark", reason=event.reason)
                    self._metrics.events_dropped.inc()
            self._added.clear()
            await self._added.wait()

    async def _deliver(self, event: Event, count: int) -> None:
        """Sends it; a passing failure is tried again, and all others wait meanwhile: the server has asked for it."""
        for failures in range(TRIES):
            try:
                await self._send(event, count)
                return
            except Exists:
                return  # reported before a restart
            except Gone:
                count = 1  # the server forgets events after an hour; the series begins anew
            except Retry as error:
                pause = max(error.after or 0.0, BACKOFF.pause(self._random, failures))
                log.info("event not taken yet", reason=event.reason, error=error.message)
                await asyncio.sleep(pause)
            except SeamarkError as error:
                log.info("event not taken", reason=event.reason, error=error.message)
                break
        self._metrics.events_dropped.inc()

    async def _send(self, event: Event, count: int) -> None:
        if count > 1:
            counted = {"count": count, "lastObservedTime": event.event_time}
            await self._client.merge_patch(Event, event.key, {"series": counted})
        else:
            await self._client.create(event)
        self._metrics.writes.labels("Event", "patch" if count > 1 else "create", "").inc()


def event_name(metadata: ObjectMeta, reason: str, note: str, moment: str) -> str:
    """The same event about the same object has the same name, in every process."""
    digest = hashlib.sha256("\0".join((metadata.uid, reason, note, moment)).encode(errors="replace")).hexdigest()[:16]
    return f"{metadata.name[:230].rstrip('-.')}.{digest}"


def shortened(note: str) -> str:
    """As much of it as the API takes, which counts bytes."""
    raw = note.encode(errors="replace")
    if len(raw) <= LONGEST_NOTE:
        return raw.decode()
    return raw[: LONGEST_NOTE - len(b"...")].decode(errors="ignore") + "…"  # three bytes as well
