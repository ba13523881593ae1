"""One zone: the objects that have records there, the plan for them, and what of it is not reported yet. No I/O."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from seamark.families.dns.claims import Claim
from seamark.families.dns.planning import Stake, ZonePlan
from seamark.families.dns.rules import Rules
from seamark.families.dns.state import Adjusted, Ref, Refusals
from seamark.families.dns.wishes import Wishes
from seamark.providers.dns.model import Content, Slot
from seamark_runtime.controller import Wanted


@dataclass(frozen=True, slots=True)
class Subject:
    """An object with records in a zone, as far as the zone is concerned.

    - `settled`: it has our finalizer, so that its records can be found when it goes.
    - `hidden`: a filter hides it. Its records are let alone.
    """

    ref: Ref
    key: Hashable
    uid: str
    generation: int
    wishes: Wishes
    claims: Mapping[str, tuple[Claim, ...]]
    deleting: bool = False
    settled: bool = True
    hidden: bool = False

    def stake(self, zone: str) -> Stake:
        if self.deleting:
            return Stake(self.ref, doomed=tuple(wish.record.slot for wish in self.wishes.wishes if wish.zone == zone))
        unknown = any(problem.slot is None for problem in self.wishes.problems)  # which record it spoke of
        return Stake(
            self.ref,
            claims=() if self.hidden else self.claims.get(zone, ()),
            slots=frozenset(problem.slot for problem in self.wishes.problems if problem.slot is not None),
            held=self.hidden or not self.settled or unknown,
        )

    def leaves(self, zone: str) -> bool:
        return self.deleting or not self.claims.get(zone)


def claims_of(
    ref: Ref, wishes: Wishes, *, settled: bool, refused: frozenset[Slot] = frozenset()
) -> Mapping[str, tuple[Claim, ...]]:
    """By zone."""
    found: dict[str, list[Claim]] = {}
    for wish in wishes.wishes:
        claim = Claim(ref, wish.index, wish.record, wish.labels, settled, wish.record.slot in refused)
        found.setdefault(wish.zone, []).append(claim)
    return {zone: tuple(some) for zone, some in found.items()}


AT_ONCE = 500  # objects that are spoken about in one pass
Mood = tuple[bool, bool, str]  # what concerns every object of a zone: known, fresh, trouble


class Ledger:
    """What is known of one zone, kept up at the cost of what changed.

    - `untold` are the objects with a possibly changed entry. They stay in it until `told`, so that a reconcile that
      fails in between loses nothing.
    """

    def __init__(self, zone: str, rules: Rules, adjusted: Adjusted | None = None) -> None:
        self.zone = zone
        self.plan = ZonePlan(zone, rules)
        self.plan.adjusted = adjusted
        self.subjects: dict[Hashable, Subject] = {}
        self.untold: dict[Hashable, None] = {}
        self.wished: Tally[str] = Tally()  # records that objects wish for, by type
        self.invalid = 0  # records that could not be right, ever since
        self._by_name: dict[str, dict[Hashable, None]] = {}
        self._leaving: dict[Hashable, None] = {}
        self._mood: Mood = (False, False, "")
        self._refusals: Refusals = {}
        self.wanted: Wanted | None = None  # the calls of the last plan that was whole

    def follow(
        self,
        content: Content | None,
        changed: Mapping[Hashable, Subject | None],
        living: frozenset[str],
        now: float = 0.0,
    ) -> None:
        stakes: dict[Hashable, Stake | None] = {}
        for key, subject in changed.items():
            before = self.subjects.get(key)
            if before == subject:
                continue
            self._replace(key, before, subject)
            stakes[key] = subject.stake(self.zone) if subject is not None else None
        planned = self.plan.follow(content, stakes, living, now)
        for name in planned:
            self.untold.update(self._by_name.get(name, {}))
        if planned:
            self.untold.update(self._leaving)

    def heard(self, mood: Mood, refusals: Refusals) -> None:
        """The responses of the server, about all or about single records."""
        if mood != self._mood:
            self._mood = mood
            self.untold.update(dict.fromkeys(self.subjects))
        if refusals is not self._refusals:
            before, self._refusals = self._refusals, refusals
            for change in {**before, **refusals}:
                if before.get(change) != refusals.get(change):
                    for part in change.parts:
                        self.untold.update(self._by_name.get(part.record.name, {}))
            self.untold.update(self._leaving)

    def news(self) -> dict[Hashable, Subject | None]:
        """The next objects to speak about: those for all of whose names there is a plan."""
        ready = (key for key in self.untold if not self._waits(key))
        return {key: self.subjects.get(key) for key in islice(ready, AT_ONCE)}

    @property
    def more(self) -> bool:
        """Whether there is more to plan or to tell than fits in one pass."""
        if self.plan.content is None:
            return len(self.untold) > AT_ONCE
        return bool(self.plan.backlog) or len(self.untold) > AT_ONCE

    def told(self, keys: Iterable[Hashable]) -> None:
        for key in keys:
            self.untold.pop(key, None)

    def _waits(self, key: Hashable) -> bool:
        backlog, subject = self.plan.backlog, self.subjects.get(key)
        if not backlog or subject is None or self.plan.content is None:
            return False
        return any(wish.record.name in backlog for wish in subject.wishes.wishes)

    def _replace(self, key: Hashable, before: Subject | None, after: Subject | None) -> None:
        self.untold[key] = None
        self._leaving.pop(key, None)
        if before is not None:
            self.wished.subtract(claim.record.type for claim in before.claims.get(self.zone, ()))
            for wish in before.wishes.wishes:
                interested = self._by_name.get(wish.record.name)
                if interested is not None:
                    interested.pop(key, None)
                    if not interested:
                        del self._by_name[wish.record.name]
        if after is None:
            self.subjects.pop(key, None)
            return
        self.subjects[key] = after
        if before is None or before.wishes != after.wishes:
            self.invalid += sum(problem.reason == "Invalid" for problem in after.wishes.problems)
        self.wished.update(claim.record.type for claim in after.claims.get(self.zone, ()))
        for wish in after.wishes.wishes:
            self._by_name.setdefault(wish.record.name, {})[key] = None
        if after.leaves(self.zone):
            self._leaving[key] = None
