"""The calls of the family: reading and changing zones, asking name servers. The results become responses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from seamark.families.dns.model.failurelog import FailureLog
from seamark.families.dns.model.lookups import BATCH
from seamark.families.dns.model.metrics import DnsMetrics
from seamark.families.dns.model.responses import Refusals, Responses
from seamark.families.dns.zone.state import Adjust, Ask, Read, Update
from seamark.providers.dns.isolate import Outcome, apply_each
from seamark.providers.dns.model import Change, Content, Moved, Part, Provider, QueryResults, Record
from seamark_runtime.errors import Fenced, Refused, SeamarkError

NOT_SERVED = "the name server took the update, and does not serve the record"


class Remote:
    """Performs `Read`, `Adjust`, `Ask` and `Update`.

    After every update the zone is read and its name servers are asked: what counts is what they answer, not what was
    acknowledged.
    """

    def __init__(
        self,
        provider: Provider,
        responses: Responses,
        metrics: DnsMetrics,
        now: Callable[[], float] | None = None,
        moment: Callable[[], str] = str,
    ) -> None:
        self.provider = provider
        self._responses = responses
        self._metrics = metrics
        self._now = now or _loop_time
        self._moment = moment
        self._log = FailureLog()

    async def perform(self, action: Read | Adjust | Ask | Update) -> None:
        call = type(action).__name__.lower()
        try:
            match action:
                case Read(zone=zone):
                    if not self._confirm(zone, await self.provider.read(zone)):
                        self._metrics.no_op_runs.inc()
                case Adjust(zone=zone, records=records):
                    answers = await self.provider.adjust(records)
                    self._responses.adjust(zone, records, answers, self._now())
                case Ask(zone=zone, records=records):
                    await self._ask(zone, records)
                case Update():
                    await self._update(action)
        except Refused:
            raise  # about one record, which is counted among the refused ones
        except Exception as error:
            self._metrics.failed()
            if not isinstance(error, Moved | Fenced):
                self._log.failed(action.zone, call, error.message if isinstance(error, SeamarkError) else str(error))
            raise
        self._metrics.synced()
        self._log.succeeded(action.zone, call)

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
        served = [content.get(change.slot) for change in changes if change not in outcome.refused]
        try:
            await self._ask(zone, [record for record in served[:BATCH] if record is not None], content)
        finally:
            self._confirm(zone, content)
        if outcome.moved:
            raise Moved("records of the zone were changed by another writer meanwhile")  # all its objects show this
        if action.alone and outcome.refused:
            raise Refused(next(iter(outcome.refused.values())))

    async def _ask(self, zone: str, records: Sequence[Record], content: Content | None = None) -> None:
        content = content or self._responses.content(zone, self._now())
        if self.provider.querier is None:
            found = QueryResults({}, unserved=tuple(records))
        elif content is None or not records:
            return
        else:
            found = await self.provider.querier.ask(content, records)
        self._responses.answered(zone, records, found, self._now(), self._moment())

    def _confirm(self, zone: str, content: Content) -> bool:
        return self._responses.confirm(zone, content, self._now(), self._moment())

    def _still_stands(self, zone: str, change: Change) -> bool:
        """Whether what it starts from is what we know now; if not, it is planned anew."""
        content = self._responses.content(zone, self._now())
        return content is not None and all(content.get(part.record.slot) == part.before for part in change.parts)

    def _attempted(self, zone: str, tried: tuple[Change, ...], refused: Refusals, *, alone: bool = False) -> None:
        self._responses.attempted(zone, tried, refused, self._now(), alone=alone)
        self._log.refused(zone, refused, tried)
        self._metrics.refused.labels(zone).set(self._responses.refused(zone))


def shows(content: Content, change: Change) -> bool:
    """Whether the server holds what the change was to bring about."""
    return all(_shows(content.get(part.record.slot), part) for part in change.parts)


def _shows(standing: Record | None, part: Part) -> bool:
    if part.after is None or standing is None:
        return part.after is None and standing is None
    if any(name in part.without for name, _ in standing.properties):
        return False
    return standing.targets == part.after.targets and part.after.ttl in (0, standing.ttl)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
