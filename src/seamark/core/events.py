"""Events: what happened, told once.

- One when an object's summary condition turns False, one when it has recovered, one for a notice; none for becoming
  True at birth. Never one per pass: the same words about the same object are counted into a series instead.
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

from seamark.api.events import Event, ObjectReference
from seamark.api.meta import Condition, Object, ObjectMeta
from seamark.core.backoff import Backoff
from seamark.core.client import Client
from seamark.core.clock import Clock, micro_timestamp
from seamark.core.conditions import FALSE, TRUE
from seamark.core.errors import Exists, Gone, Retry, SeamarkError
from seamark.core.metrics import Metrics
from seamark.core.redaction import redact

log = structlog.get_logger(__name__)

LONGEST_NOTE = 1024
WINDOW = 360.0  # seconds in which the same words are one series
TRIES = 5
BACKOFF = Backoff(first=0.5, most=30.0)


@dataclass(frozen=True)
class Notice:
    """Something a user should hear that no condition carries."""

    reason: str
    message: str
    warning: bool = True


@dataclass(slots=True)
class _Said:
    at: float
    count: int = 1
    told: int = 1


class Events:
    def __init__(self, client: Client, clock: Clock, metrics: Metrics, instance: str, limit: int = 1000) -> None:
        self._client = client
        self._clock = clock
        self._metrics = metrics
        self._instance = instance
        self._limit = limit
        self._random = Random(instance)
        self._said: OrderedDict[str, _Said] = OrderedDict()
        self._down: OrderedDict[str, None] = OrderedDict()  # objects of which a failure was told, not yet a recovery
        self._pending: deque[tuple[Event, int]] = deque()
        self._wake = asyncio.Event()

    def flip(self, obj: Object, before: Condition | None, after: Condition) -> None:
        """The summary condition of an object changed its status: told when it fails, and when it has recovered."""
        was_down = obj.uid in self._down or (before is not None and before.status == FALSE)
        if after.status == FALSE:
            self._down[obj.uid] = None
            while len(self._down) > 10 * self._limit:
                self._down.popitem(last=False)
        elif after.status == TRUE and was_down:
            self._down.pop(obj.uid, None)
        else:
            return
        self._tell(obj, after.reason, after.message, warning=after.status == FALSE, moment=after.last_transition_time)

    def notice(self, obj: Object, notice: Notice) -> None:
        self._tell(obj, notice.reason, notice.message, warning=notice.warning, moment="")

    def _tell(self, obj: Object, reason: str, note: str, *, warning: bool, moment: str) -> None:
        note = redact(note)
        name = event_name(obj, reason, note, moment)
        now = self._clock.monotonic()
        said = self._said.get(name)
        if said is not None:
            said.count += 1
            if now - said.at < WINDOW:
                return
            said.at, said.told = now, said.count
        else:
            said = self._said[name] = _Said(now)
            self._metrics.notices.labels(obj.RESOURCE.kind, reason).inc()
            while len(self._said) > 10 * self._limit:
                self._said.popitem(last=False)
        if len(self._pending) >= self._limit:
            self._metrics.events_dropped.inc()
            return
        self._pending.append((self._event(name, obj, reason, note, warning=warning), said.count))
        self._wake.set()

    def _event(self, name: str, obj: Object, reason: str, note: str, *, warning: bool) -> Event:
        resource = obj.RESOURCE
        return Event(
            metadata=ObjectMeta(name=name, namespace=obj.metadata.namespace or "default"),
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
                name=obj.metadata.name,
                namespace=obj.metadata.namespace,
                uid=obj.uid,
            ),
        )

    async def run(self) -> None:
        while True:
            while self._pending:
                event, count = self._pending.popleft()
                await self._deliver(event, count)
            self._wake.clear()
            await self._wake.wait()

    async def _deliver(self, event: Event, count: int) -> None:
        """Sends it; a passing failure is tried again, and all others wait meanwhile: the server has asked for it."""
        for failures in range(TRIES):
            try:
                await self._send(event, count)
                return
            except Exists:
                return  # said before a restart
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
            series = {"count": count, "lastObservedTime": event.event_time}
            await self._client.merge_patch(Event, event.key, {"series": series})
        else:
            await self._client.create(event)
        self._metrics.writes.labels("Event", "patch" if count > 1 else "create", "").inc()


def event_name(obj: Object, reason: str, note: str, moment: str) -> str:
    """The same event about the same object has the same name, in every process."""
    digest = hashlib.sha256("\0".join((obj.uid, reason, note, moment)).encode()).hexdigest()[:16]
    return f"{obj.metadata.name[:230].rstrip('-.')}.{digest}"


def shortened(note: str) -> str:
    """As much of it as the API takes, which counts bytes."""
    if len(note.encode()) <= LONGEST_NOTE:
        return note
    return note.encode()[: LONGEST_NOTE - len(b"...")].decode(errors="ignore") + "…"  # three bytes as well
