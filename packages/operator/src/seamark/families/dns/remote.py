"""The calls of the family: reading zones and changing them. The results become responses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from seamark.families.dns.model.metrics import DnsMetrics
from seamark.families.dns.model.responses import Refusals, Responses
from seamark.families.dns.zone.state import Adjust, Read, Update
from seamark.providers.dns.isolate import Outcome, apply_each
from seamark.providers.dns.model import Change, Content, Moved, Provider
from seamark_runtime.errors import Refused, SeamarkError

NOT_SERVED = "the name server took the update, and does not serve the record"


class Remote:
    """Performs `Read`, `Adjust` and `Update`.

    After every update the zone is read: what counts is what the server holds, not what it acknowledged.
    """

    def __init__(
        self,
        provider: Provider,
        responses: Responses,
        metrics: DnsMetrics,
        now: Callable[[], float] | None = None,
    ) -> None:
        self.provider = provider
        self._responses = responses
        self._metrics = metrics
        self._now = now or _loop_time

    async def perform(self, action: Read | Adjust | Update) -> None:
        try:
            match action:
                case Read(zone=zone):
                    if not self._responses.confirm(zone, await self.provider.read(zone), self._now()):
                        self._metrics.no_op_runs.inc()
                case Adjust(zone=zone, records=records):
                    answers = await self.provider.adjust(records)
                    self._responses.adjust(zone, records, answers, self._now())
                case Update():
                    await self._update(action)
        except Refused:
            raise  # about one record, which is counted among the refused ones
        except Exception:
            self._metrics.failed()
            raise
        self._metrics.synced()

    async def _update(self, action: Update) -> None:
        zone = action.zone
        outcome = Outcome()
        changes = [change for change in action.changes if self._still_stands(zone, change)]
        try:
            await apply_each(self.provider, zone, changes, outcome)
        except SeamarkError:
            self._attempted(zone, (), outcome.refused)  # of the others nothing is known
            raise
        finally:
            self._metrics.updates.inc(outcome.messages)
        content = await self.provider.read(zone)
        skipped = {*outcome.refused, *outcome.moved}
        for change in changes:
            if change not in skipped and not shows(content, change):
                outcome.refused[change] = NOT_SERVED
        self._attempted(zone, tuple(changes), outcome.refused, alone=action.alone)
        self._responses.confirm(zone, content, self._now())
        if outcome.moved:
            raise Moved("records of the zone were changed by another writer meanwhile")  # all its objects show this
        if action.alone and outcome.refused:
            raise Refused(next(iter(outcome.refused.values())))

    def _still_stands(self, zone: str, change: Change) -> bool:
        """Whether what it starts from is what we know now; if not, it is planned anew."""
        content = self._responses.content(zone, self._now())
        return content is not None and all(content.get(part.record.slot) == part.before for part in change.parts)

    def _attempted(self, zone: str, tried: tuple[Change, ...], refused: Refusals, *, alone: bool = False) -> None:
        self._responses.attempted(zone, tried, refused, self._now(), alone=alone)
        self._metrics.refused.labels(zone).set(self._responses.refused(zone))


def shows(content: Content, change: Change) -> bool:
    """Whether the server holds what the change was to bring about."""
    for part in change.parts:
        standing = content.get(part.record.slot)
        if part.after is None:
            if standing is not None:
                return False
        elif standing is None or standing.targets != part.after.targets or part.after.ttl not in (0, standing.ttl):
            return False
    return True


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
