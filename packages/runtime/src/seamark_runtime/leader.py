"""One leader at a time, by a Lease; and a write deadline, so that a leader that was paused or suspended writes nothing.

Why two leaders never overlap, however slow their GETs and PATCHes are. `p` is the moment at which the API server takes
a holder's write. It is not known, but both sides know a bound:

- The holder reads its clock at `started`, before its GET, and sends the write after that: `started <= p`. Its deadline
  is `started + duration - margin`, so it stops at `p + duration - margin` at the latest.
- A candidate reads its clock at `seen`, after the response that showed that write: `p <= seen`. It tries to take over
  at `seen + duration` at the earliest, so never before `p + duration`. (Counted from before its GET was sent, `seen`
  could lie before `p` by as much as the GET took.)
- The candidate's write carries the resourceVersion it has seen: it fails if the holder has renewed since, and then the
  age counts anew. A renewal that takes effect after its sender gave up moves no deadline, it only prolongs the wait.
- `margin` covers clocks that run at different rates. The clocks need not show the same time, and they count the time
  for which a machine is suspended (`SuspendAwareClock`).

`remaining` is what is left until our deadline. At zero nothing is sent any more, and what is sent has a shorter
deadline than that. On a graceful stop the lease is given back, so the next one starts at once.
"""

from __future__ import annotations

import asyncio
import math
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import structlog

from seamark_runtime.api.coordination import Lease, LeaseSpec
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.client import Client, NoWriteDeadline
from seamark_runtime.clock import SuspendAwareClock, micro_timestamp
from seamark_runtime.errors import Conflict, Exists, Gone, SeamarkError

log = structlog.get_logger(__name__)

MARK = "seamark.dev/operator-lease"  # the label of a Lease by which an operator of ours is elected
LABELS = {MARK: "true"}
FAMILIES_ANNOTATION = "seamark.dev/families"  # on it: what that operator runs, separated by commas
CHECK = 1.0  # seconds between two looks at a clock that the event loop's timers do not follow


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    duration: float = 15.0
    renew: float = 5.0
    margin: float = 3.0
    families: str = ""  # what the operator runs, for readers of the Lease


def process_identity() -> str:
    """Unique per process: Pods on the host network share a host name, and containers share process ids."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Leader:
    """Holds, loses and regains a Lease. It is a `WriteDeadline`."""

    def __init__(
        self, client: Client, key: Key, identity: str, clock: SuspendAwareClock, settings: LeaseSettings | None = None
    ) -> None:
        # Urgent: a renewal must not wait for the very writes that need it.
        self._client = Client(
            client.transport,
            manager="seamark-leader",
            write_deadline=NoWriteDeadline(),
            timeout=client.timeout,
            urgent=True,
        )
        self._key = key
        self._identity = identity
        self._clock = clock
        self._settings = settings or LeaseSettings()
        self._lease_seconds = math.ceil(self._settings.duration)  # whole seconds, and never less than we count on
        self._random = Random(identity)
        self._deadline = float("-inf")
        self._term = 0  # how often the lease has become ours after a time without it
        self._replaced = False  # a response has shown that another process leads, and the lease was not ours since
        self._seen: tuple[str, float] = ("", 0.0)  # another holder's lease: its version, and when a response showed it
        self._changed = asyncio.Event()

    def remaining(self) -> float:
        return self._deadline - self._clock.boottime()

    @property
    def leading(self) -> bool:
        return self.remaining() > 0

    async def gained(self) -> None:
        """Returns once the lease is ours."""
        while not self.leading:
            self._changed.clear()
            await self._changed.wait()

    async def lost(self) -> None:
        """Returns once our deadline has passed without a renewal, even if the lease has become ours again since."""
        term = self._term
        while self._term == term and (left := self.remaining()) > 0:  # noqa: ASYNC110  time itself is what we wait for
            await asyncio.sleep(min(left, CHECK))  # a suspended machine's timers are late

    async def replaced(self) -> None:
        """Returns once a response has shown another process as the holder; a missing response is no evidence."""
        while not self._replaced:
            self._changed.clear()
            await self._changed.wait()

    async def run(self) -> None:
        """Acquires and renews until cancelled."""
        settings = self._settings
        while True:
            try:
                async with asyncio.timeout(settings.renew):
                    await self._turn()
            except TimeoutError:
                log.warning("lease not answered in time", lease=str(self._key))
            except (Conflict, Exists):
                pass  # another replica was quicker: try again next time
            except SeamarkError as error:
                log.warning("lease not renewed", lease=str(self._key), error=error.message)
            except Exception:  # whatever fails here, the election goes on: otherwise no replica would lead
                log.exception("lease not renewed: this is a bug in Seamark", lease=str(self._key))
            pause = settings.renew if self.leading else settings.renew / 2
            await asyncio.sleep(pause * (0.8 + self._random.random() / 5))

    async def release(self) -> None:
        """Gives the lease back if it is ours."""
        if not self.leading:
            return
        self._deadline = float("-inf")
        try:
            async with asyncio.timeout(self._settings.renew):
                lease = await self._client.get(Lease, self._key)
                if lease.spec.holder_identity == self._identity:
                    now = micro_timestamp(self._clock.wall())
                    await self._patch(lease, {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": now})
        except TimeoutError:
            log.info("lease not given back in time; it runs out by itself")
        except SeamarkError as error:
            log.info("lease not given back; it runs out by itself", error=error.message)

    async def _turn(self) -> None:
        started = self._clock.boottime()
        now = micro_timestamp(self._clock.wall())
        ours = {"holderIdentity": self._identity, "leaseDurationSeconds": self._lease_seconds}
        try:
            lease = await self._client.get(Lease, self._key)
        except Gone:
            await self._create(now)
            self._take(started)
            return
        if lease.spec.holder_identity == self._identity:
            await self._patch(lease, {**ours, "renewTime": now})
        elif not lease.spec.holder_identity or self._run_out(lease, self._clock.boottime()):
            transitions = (lease.spec.lease_transitions or 0) + 1
            spec = {**ours, "renewTime": now, "acquireTime": now, "leaseTransitions": transitions}
            await self._patch(lease, spec, {"labels": LABELS, "annotations": self._annotations()})
        else:
            self._replaced, self._deadline = True, float("-inf")  # also if it was given away before our deadline
            self._changed.set()
            return
        self._take(started)

    def _take(self, started: float) -> None:
        if not self.leading:
            self._term += 1
        self._replaced = False
        self._deadline = started + self._settings.duration - self._settings.margin
        self._changed.set()

    def _run_out(self, lease: Lease, now: float) -> bool:
        """`now` is a moment after the response that showed this lease."""
        if self._seen[0] != lease.metadata.resource_version:
            self._seen = (lease.metadata.resource_version, now)
        return now - self._seen[1] >= (lease.spec.lease_duration_seconds or self._settings.duration)

    async def _create(self, now: str) -> None:
        spec = LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=self._lease_seconds,
            acquire_time=now,
            renew_time=now,
            lease_transitions=0,
        )
        metadata = ObjectMeta(
            name=self._key.name, namespace=self._key.namespace, labels=LABELS, annotations=self._annotations()
        )
        await self._client.create(Lease(metadata=metadata, spec=spec))

    def _annotations(self) -> dict[str, str]:
        return {FAMILIES_ANNOTATION: self._settings.families}

    async def _patch(self, lease: Lease, spec: dict[str, object], marks: Mapping[str, object] | None = None) -> None:
        metadata = {"resourceVersion": lease.metadata.resource_version, "uid": lease.uid, **(marks or {})}
        await self._client.merge_patch(Lease, self._key, {"metadata": metadata, "spec": spec})
