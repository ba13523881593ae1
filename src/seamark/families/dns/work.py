"""What is done outside: reading zones and changing them. What comes of it is left as facts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from seamark.core.errors import Refused, SeamarkError
from seamark.core.source import Facts, Fresh, Stale
from seamark.families.dns.metrics import DnsMetrics
from seamark.families.dns.state import Adjust, Read, Refusals, Update
from seamark.providers.dns.isolate import Outcome, apply_each
from seamark.providers.dns.model import Change, Content, Moved, Provider, Record

MOST_REFUSALS = 10_000
MOST_ADJUSTED = 100_000
NOT_SERVED = "the name server took the update, and does not serve the record"


class Work:
    """Performs `Read` and `Update`.

    - `contents`: what the server holds of each zone. It goes stale when the server has not confirmed it for
      `shelf_life` seconds.
    - `refusals`: what the server refused, by zone, until it takes it.
    - `adjusted`: records as the provider would rather have them; `adjustments` tells that there are more of them.
    - After every update the zone is read: what counts is what the server holds, not what it promised.
    """

    def __init__(self, provider: Provider, shelf_life: float, now: Callable[[], float] | None = None) -> None:
        self.provider = provider
        self.contents: Facts[str, Content] = Facts("zone contents")
        self.refusals: Facts[str, Refusals] = Facts("refused records")
        self.adjusted: dict[Record, Record | None] | None = {} if provider.adjusts else None
        self.adjustments: Facts[str, int] = Facts("adjusted records")
        self.metrics = DnsMetrics()
        self._shelf_life = shelf_life
        self._now = now or _loop_time

    async def perform(self, action: Read | Adjust | Update) -> None:
        try:
            match action:
                case Read(zone=zone):
                    if not self._keep(zone, await self.provider.read(zone)):
                        self.metrics.no_op_runs.inc()
                case Adjust():
                    await self._adjust(action)
                case Update():
                    await self._update(action)
        except Refused:
            raise  # about one record, which is counted where it is remembered
        except Exception:
            self.metrics.failed()
            raise
        self.metrics.synced()

    def _keep(self, zone: str, content: Content) -> bool:
        """Whether there was something new."""
        now = self._now()
        known = self.contents.get(zone, now)
        same = isinstance(known, Fresh) and known.value is content
        # At rest a confirmation wakes nobody, unless the last one has grown old.
        if not (same and isinstance(known, Fresh) and known.expires - now > self._shelf_life / 2):
            self.contents.put(zone, content, now + self._shelf_life)
        return not same

    async def _adjust(self, action: Adjust) -> None:
        """Answers have no order: they are known by the record that they are about."""
        answers = {record.slot: record for record in await self.provider.adjust(action.records)}
        if self.adjusted is None:
            return
        if len(self.adjusted) > MOST_ADJUSTED:
            self.adjusted.clear()
        for record in action.records:
            self.adjusted[record] = answers.get(record.slot)
        known = self.adjustments.get(action.zone, self._now())
        self.adjustments.put(action.zone, known.value + 1 if isinstance(known, Fresh) else 1)

    async def _update(self, action: Update) -> None:
        zone = action.zone
        outcome = Outcome()
        changes = [change for change in action.changes if self._still_stands(zone, change)]
        try:
            await apply_each(self.provider, zone, changes, outcome)
        except SeamarkError:
            self._note(zone, changes, outcome.refused)
            raise
        finally:
            self.metrics.updates.inc(outcome.messages)
        content = await self.provider.read(zone)
        skipped = {*outcome.refused, *outcome.moved}
        for change in changes:
            if change not in skipped and not shows(content, change):
                outcome.refused[change] = NOT_SERVED
        self._note(zone, changes, outcome.refused)
        self._keep(zone, content)
        if outcome.moved:
            raise Moved(f"{outcome.moved[0].slot[0]} was changed by somebody else meanwhile")
        if action.alone and outcome.refused:
            raise Refused(next(iter(outcome.refused.values())))

    def _still_stands(self, zone: str, change: Change) -> bool:
        """Whether what it starts from is what we know now; if not, it is planned anew."""
        fact = self.contents.get(zone, self._now())
        if not isinstance(fact, Fresh | Stale):
            return False
        return all(fact.value.get(part.record.slot) == part.before for part in change.parts)

    def _note(self, zone: str, tried: list[Change], refused: Refusals) -> None:
        fact = self.refusals.get(zone, self._now())
        known = dict(fact.value) if isinstance(fact, Fresh) else {}
        for change in tried:
            known.pop(change, None)
        known.update(refused)
        while len(known) > MOST_REFUSALS:
            del known[next(iter(known))]
        self.metrics.refused.labels(zone).set(len(known))
        if known or isinstance(fact, Fresh):
            self.refusals.put(zone, known)


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
