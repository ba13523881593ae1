"""What is done outside: reading zones and changing them. What comes of it is left as facts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice

from seamark.families.dns.expiring import Expiring, Pauses
from seamark.families.dns.metrics import DnsMetrics
from seamark.families.dns.planning import ZonePlan
from seamark.families.dns.state import MOST_ALONE, Adjust, Adjusted, Read, Refusals, Update
from seamark.providers.dns.isolate import Outcome, apply_each
from seamark.providers.dns.model import Change, Content, Moved, Provider
from seamark_runtime.errors import Refused, SeamarkError
from seamark_runtime.source import Facts, Fresh, Stale

MOST_REFUSALS = 10_000
MOST_ADJUSTED = 100_000
REFUSED = Pauses(first=1.0, most=60.0)  # of a change that is tried again alone
LONGEST_SHARE = 10.0  # many refused changes are tried again more slowly, so many times at most
NOT_SERVED = "the name server took the update, and does not serve the record"


class Work:
    """Performs `Read` and `Update`.

    - `contents`: what the server holds of each zone. It goes stale when the server has not confirmed it for
      `shelf_life` seconds.
    - `refusals`: what the server refused, by zone, until it takes it. A refusal expires: then the change is `due`.
    - `adjusted`: records as the provider would rather have them; `adjustments` tells that there are more of them. These
      answers expire, too: then the provider is asked again, whether it took the record or not.
    - After every update the zone is read: what counts is what the server holds, not what it promised.
    """

    def __init__(self, provider: Provider, shelf_life: float, now: Callable[[], float] | None = None) -> None:
        self.provider = provider
        self.contents: Facts[str, Content] = Facts("zone contents")
        self.refusals: Facts[str, Refusals] = Facts("refused records")
        self.adjustments: Facts[str, int] = Facts("adjusted records")
        self.metrics = DnsMetrics()
        self._adjusted: dict[str, Adjusted] = {}
        self._refused: dict[str, Expiring[Change, str]] = {}
        self._shelf_life = shelf_life
        self._now = now or _loop_time

    def adjusted(self, zone: str) -> Adjusted | None:
        """None where the provider takes records as they are."""
        return self._adjusted.setdefault(zone, Expiring(MOST_ADJUSTED)) if self.provider.adjusts else None

    def expire(self, zone: str, now: float) -> float:
        """The provider's answers whose time has come count as expired. Returns when the next one expires."""
        answers = [known for known in (self._adjusted.get(zone), self._refused.get(zone)) if known is not None]
        for known in answers:
            known.expire(now)
        return min((known.next for known in answers), default=float("inf"))

    def due(self, zone: str, plan: ZonePlan) -> Sequence[Change]:
        """Refused changes of the plan to be tried again now. Those that are not in it any more are forgotten."""
        refused = self._refused.get(zone)
        if refused is None or plan.content is None or plan.backlog:
            return ()
        gone = [change for change in refused.expired if change not in plan.pending.get(change.slot[0], ())]
        for change in gone:
            refused.forget(change)
        if gone:
            self._publish(zone, refused)
        return tuple(islice(refused.expired, MOST_ALONE))

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
        # At rest a confirmation requeues nothing, unless the last one is old.
        if not (same and isinstance(known, Fresh) and known.expires - now > self._shelf_life / 2):
            self.contents.put(zone, content, now + self._shelf_life)
        return not same

    async def _adjust(self, action: Adjust) -> None:
        """Answers have no order: they are known by the record that they are about."""
        answers = {record.slot: record for record in await self.provider.adjust(action.records)}
        adjusted = self.adjusted(action.zone)
        if adjusted is None:
            return
        for record in action.records:
            answer = answers.get(record.slot)
            adjusted.put(record, answer, self._now(), refused=answer is None)
        known = self.adjustments.get(action.zone, self._now())
        self.adjustments.put(action.zone, known.value + 1 if isinstance(known, Fresh) else 1)

    async def _update(self, action: Update) -> None:
        zone = action.zone
        outcome = Outcome()
        changes = [change for change in action.changes if self._still_stands(zone, change)]
        try:
            await apply_each(self.provider, zone, changes, outcome)
        except SeamarkError:
            self._note(zone, (), outcome.refused)  # of the others nothing is known
            raise
        finally:
            self.metrics.updates.inc(outcome.messages)
        content = await self.provider.read(zone)
        skipped = {*outcome.refused, *outcome.moved}
        for change in changes:
            if change not in skipped and not shows(content, change):
                outcome.refused[change] = NOT_SERVED
        self._note(zone, changes, outcome.refused, alone=action.alone)
        self._keep(zone, content)
        if outcome.moved:
            raise Moved("records of the zone were changed by somebody else meanwhile")  # all its objects show this
        if action.alone and outcome.refused:
            raise Refused(next(iter(outcome.refused.values())))

    def _still_stands(self, zone: str, change: Change) -> bool:
        """Whether what it starts from is what we know now; if not, it is planned anew."""
        fact = self.contents.get(zone, self._now())
        if not isinstance(fact, Fresh | Stale):
            return False
        return all(fact.value.get(part.record.slot) == part.before for part in change.parts)

    def _note(self, zone: str, tried: Sequence[Change], refused: Refusals, *, alone: bool = False) -> None:
        known = self._refused.setdefault(zone, Expiring(MOST_REFUSALS, REFUSED))
        accepted = [change for change in tried if change in known and change not in refused]
        for change in accepted:
            known.forget(change)
        if alone and accepted:
            known.expire_refusals()
        share = min(LONGEST_SHARE, max(1.0, len(known) / MOST_ALONE))
        for change, words in refused.items():
            known.put(change, words, self._now(), refused=True, share=share)
        self._publish(zone, known)

    def _publish(self, zone: str, known: Expiring[Change, str]) -> None:
        self.metrics.refused.labels(zone).set(len(known))
        if known or isinstance(self.refusals.get(zone, self._now()), Fresh):
            self.refusals.put(zone, dict(known))


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
