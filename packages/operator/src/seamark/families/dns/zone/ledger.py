"""One zone: the objects that have records there, the plan for them, and what of it is not published yet. No I/O."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from seamark.families.dns.model.entries import Ref
from seamark.families.dns.model.lookups import NOT_QUERIED, Lookups, Shown, Standing
from seamark.families.dns.model.metrics import ZoneCounts
from seamark.families.dns.model.responses import Adjusted, Refusals
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.claims import Decision, ObjectClaims
from seamark.families.dns.planning.subject import Subject
from seamark.families.dns.planning.zoneplan import AT_ONCE as MOST_PLANNED
from seamark.families.dns.planning.zoneplan import ZonePlan
from seamark.families.dns.zone.state import RecordState, SubjectState
from seamark.providers.dns.model import Content, Record

AT_ONCE = 500  # entries that are published by one reconcile
NOTHING_SHOWN = Shown(Standing.NOT_QUERIED)  # of a record that is not in place


class ServerState(NamedTuple):
    """What concerns every object of a zone: whether its content is known and confirmed, and why it is not."""

    known: bool = False
    fresh: bool = False
    trouble: str = ""
    silence: str = ""  # of its authoritative name servers


class Ledger:
    """What is known of one zone, kept up to date at the cost of what changed.

    - `unpublished`: the objects whose entry may have changed. They stay in it until `published`, so that a reconcile
      that fails in between loses nothing.
    - `_parked`: objects whose records are in place and have not been asked for yet. They have no entry before that.
    - `_planned`: how many names were planned since the last `published`. There is a limit to them, so that `follow`
      changes nothing when it is called again with the same content and no changed objects.
    """

    def __init__(
        self, zone: str, rules: Rules, adjusted: Adjusted | None = None, lookups: Lookups | None = None
    ) -> None:
        self.zone = zone
        self.plan = ZonePlan(zone, rules)
        self.plan.adjusted = adjusted
        self.subjects: dict[Ref, Subject] = {}
        self.unpublished: dict[Ref, None] = {}
        self.lookups = lookups if lookups is not None else Lookups(float("inf"))
        self._parked: dict[Ref, None] = {}
        self.desired: Tally[str] = Tally()  # records that objects desire, by type
        self.invalid = 0  # records that could not be right, since the start
        self._planned = 0
        self._by_name: dict[str, dict[Ref, None]] = {}  # the objects that desire a record of a name
        self._leaving: dict[Ref, None] = {}  # objects that want no record here any more
        self._server = ServerState()
        self._refusals: Refusals = {}

    def follow(
        self,
        content: Content | None,
        changed: Mapping[Ref, Subject | None],
        populated: frozenset[str],
        now: float = 0.0,
    ) -> None:
        """These objects have changed, and this is what the server holds."""
        claims: dict[Ref, ObjectClaims | None] = {}
        for ref, subject in changed.items():
            before = self.subjects.get(ref)
            if before == subject:
                continue
            self._replace(ref, before, subject)
            claims[ref] = subject.claims_in(self.zone) if subject is not None else None
        planned = self.plan.follow(content, claims, populated, now, MOST_PLANNED - self._planned)
        self._planned += len(planned)
        for name in planned:
            self.lookups.want(name, self._in_place(name), now)
            self.unpublished.update(self._by_name.get(name, {}))
        if planned:
            self.unpublished.update(self._leaving)

    def responded(self, server: ServerState, refusals: Refusals) -> None:
        """The responses of the server and of its name servers, about the zone or about single records."""
        for name in list(self.lookups.changed):
            del self.lookups.changed[name]
            self.unpublished.update(self._by_name.get(name, {}))
        if server != self._server:
            self._server = server
            self.unpublished.update(dict.fromkeys(self.subjects))
        if refusals is not self._refusals:
            before, self._refusals = self._refusals, refusals
            for change in {**before, **refusals}:
                if before.get(change) != refusals.get(change):
                    for part in change.parts:
                        self.unpublished.update(self._by_name.get(part.record.name, {}))
            self.unpublished.update(self._leaving)
        self._park()

    def _park(self) -> None:
        """An object with a record that is about to be asked for is published when that has been answered."""
        for ref in list(self.unpublished):
            subject = self.subjects.get(ref)
            if subject is not None and not self._server.silence and self._is_unqueried(subject):
                del self.unpublished[ref]
                self._parked[ref] = None
            else:
                self._parked.pop(ref, None)
        if self._server.silence or not self._server.fresh:
            self.unpublished.update(self._parked)
            self._parked.clear()

    def _is_unqueried(self, subject: Subject) -> bool:
        return any(record.decision is not None and record.shown is NOT_QUERIED for record in self._records(subject))

    def _in_place(self, name: str) -> list[Record]:
        """The records of a name that the server holds as they are wanted."""
        content = self.plan.content
        slots = dict.fromkeys(
            decision.slot for decision in self.plan.name(name).decisions.values() if decision.in_place
        )
        found = [content.get(slot) for slot in slots] if content is not None else []
        return [record for record in found if record is not None]

    def published(self, refs: Iterable[Ref]) -> None:
        """The entries about these objects are published; more names may be planned."""
        self._planned = 0
        for ref in refs:
            self.unpublished.pop(ref, None)

    # ---- read by `observe`

    def publishable(self) -> dict[Ref, SubjectState | None]:
        """The next objects to publish entries about: those for all of whose names there is a plan."""
        ready = (ref for ref in self.unpublished if not self._waits(ref))
        subjects = ((ref, self.subjects.get(ref)) for ref in islice(ready, AT_ONCE))
        return {ref: self._state(subject) if subject is not None else None for ref, subject in subjects}

    @property
    def more(self) -> bool:
        """Whether there is more to plan or to publish than one reconcile does."""
        if self.plan.content is None:
            return len(self.unpublished) > AT_ONCE
        return bool(self.plan.backlog) or len(self.unpublished) > AT_ONCE

    @property
    def counts(self) -> ZoneCounts:
        pending = sum(map(len, self.plan.pending.values()))
        return ZoneCounts(dict(self.desired), dict(self.plan.held), dict(self.plan.in_place), self.invalid, pending)

    def _waits(self, ref: Ref) -> bool:
        backlog, subject = self.plan.backlog, self.subjects.get(ref)
        if not backlog or subject is None or self.plan.content is None:
            return False
        return any(desired.record.name in backlog for desired in subject.desired.records)

    def _state(self, subject: Subject) -> SubjectState:
        return SubjectState(
            subject,
            records=tuple(self._records(subject)),
            left=not subject.leaves(self.zone) or self._left(subject),
            refusal=self._removal_refusal(subject) if subject.deleting else "",
        )

    def _records(self, subject: Subject) -> Iterable[RecordState]:
        if subject.deleting or subject.hidden:
            return
        for desired in subject.desired.records:
            if desired.zone != self.zone:
                continue
            decision = self.plan.name(desired.record.name).decisions.get((subject.ref, desired.index))
            change = self.plan.at.get(decision.slot) if decision is not None and not decision.in_place else None
            refusal = self._refusals.get(change) if change is not None else None
            yield RecordState(desired.index, decision, refusal, self._shown(decision))

    def _shown(self, decision: Decision | None) -> Shown:
        """What the name servers answer about a record that is in place."""
        content = self.plan.content
        if decision is None or not decision.in_place or content is None:
            return NOTHING_SHOWN
        return self.lookups.shown(content.get(decision.slot))

    def _left(self, subject: Subject) -> bool:
        """Whether something of it is there, or a record that it names is about to change: that may be of several."""
        if self.plan.left(subject.claims_in(self.zone)):
            return True
        return any(desired.record.slot in self.plan.at for desired in subject.desired.records)

    def _removal_refusal(self, subject: Subject) -> str:
        """Why records of an object that is being deleted are still there."""
        for slot in self.plan.registry.of(subject.ref.resource):
            change = self.plan.at.get(slot)
            if change is not None and change in self._refusals:
                return self._refusals[change]
        return ""

    # ---- objects

    def _replace(self, ref: Ref, before: Subject | None, after: Subject | None) -> None:
        self.unpublished[ref] = None
        self._leaving.pop(ref, None)
        if before is not None:
            self.desired.subtract(claim.record.type for claim in before.claims.get(self.zone, ()))
            for desired in before.desired.records:
                interested = self._by_name.get(desired.record.name)
                if interested is not None:
                    interested.pop(ref, None)
                    if not interested:
                        del self._by_name[desired.record.name]
        if after is None:
            self.subjects.pop(ref, None)
            self._parked.pop(ref, None)
            return
        self.subjects[ref] = after
        if before is None or before.desired != after.desired:
            self.invalid += sum(problem.reason == "Invalid" for problem in after.desired.problems)
        self.desired.update(claim.record.type for claim in after.claims.get(self.zone, ()))
        for desired in after.desired.records:
            self._by_name.setdefault(desired.record.name, {})[ref] = None
        if after.leaves(self.zone):
            self._leaving[ref] = None
