"""A zone: one key for all objects that have records there. What is known of each is left as a report. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from seamark.core.apply import Answers
from seamark.core.calls import Call, Failed, Results
from seamark.core.controller import Wanted
from seamark.families.dns.plan import Claim, Held, Plan, Verdict
from seamark.families.dns.state import (
    NOT_ACCEPTED,
    PENDING,
    PROGRAMMED,
    ROW_FAILED,
    Read,
    Ref,
    Refusals,
    Row,
    Update,
    ZoneReport,
)
from seamark.families.dns.wishes import Wishes
from seamark.providers.dns.model import Change, Content, Slot

READ_TIMEOUT, UPDATE_TIMEOUT = 60.0, 120.0
MOST_ALONE = 50  # refused records that are tried again at the same time, each with its own backoff


@dataclass(frozen=True, slots=True)
class Subject:
    """An object with records in this zone, as far as the zone is concerned.

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


@dataclass(frozen=True)
class SeenZone:
    zone: str
    subjects: tuple[Subject, ...]
    content: Content | None
    fresh: bool
    plan: Plan | None
    refusals: Refusals
    results: Results
    every: float
    at: Mapping[Slot, Change] = field(default_factory=dict)  # the change that each record is part of

    @property
    def trouble(self) -> str:
        for call in (read(self), *main(self)):
            if isinstance(failed := self.results.to(call), Failed):
                return failed.message
        return ""


def claims(zone: str, subjects: Iterable[Subject]) -> Iterable[Claim]:
    for subject in subjects:
        if not (subject.deleting or subject.hidden):
            yield from subject.claims.get(zone, ())


def claims_of(ref: Ref, wishes: Wishes, *, settled: bool) -> Mapping[str, tuple[Claim, ...]]:
    """By zone."""
    found: dict[str, list[Claim]] = {}
    for wish in wishes.wishes:
        found.setdefault(wish.zone, []).append(Claim(ref, wish.index, wish.record, wish.labels, settled))
    return {zone: tuple(some) for zone, some in found.items()}


def held(subjects: Iterable[Subject]) -> Held:
    refs: set[Ref] = set()
    slots: set[Slot] = set()
    doomed: list[tuple[Slot, Ref]] = []
    for subject in subjects:
        if subject.deleting:
            doomed += [(wish.record.slot, subject.ref) for wish in subject.wishes.wishes]
            continue
        if subject.hidden or not subject.settled:
            refs.add(subject.ref)
        for problem in subject.wishes.problems:
            if problem.slot is not None:
                slots.add(problem.slot)
            else:
                refs.add(subject.ref)  # which record it spoke of is not known: none of its records is deleted
    return Held(frozenset(refs), frozenset(slots), tuple(doomed))


def affected(plan: Plan | None) -> dict[Slot, Change]:
    return {part.record.slot: change for change in (plan.changes if plan else ()) for part in change.parts}


# ---- what is wanted


def read(seen: SeenZone) -> Call[None]:
    return Call(target=f"dns {seen.zone} read", action=Read(seen.zone), every=seen.every, timeout=READ_TIMEOUT)


def main(seen: SeenZone) -> tuple[Call[None], ...]:
    """Everything that has not been refused, in one call."""
    if seen.plan is None or seen.content is None:
        return ()
    refusals = seen.refusals
    changes = tuple(change for change in seen.plan.changes if change not in refusals) if refusals else seen.plan.changes
    if not changes:
        return ()
    action = Update(seen.zone, changes, seen.content.serial)
    return (Call(target=f"dns {seen.zone} update", action=action, timeout=UPDATE_TIMEOUT),)


def alone(seen: SeenZone, change: Change) -> Call[None]:
    name, type_, identifier = change.slot
    return Call(
        target=f"dns {seen.zone} update {name} {type_} {identifier}",
        action=Update(seen.zone, (change,), alone=True),
        timeout=UPDATE_TIMEOUT,
    )


def desire(seen: SeenZone) -> Wanted:
    """Nothing is changed on a guess: only while the server answers, and has confirmed what it holds."""
    if not seen.fresh or seen.plan is None or isinstance(seen.results.to(read(seen)), Failed):
        return Wanted(calls=(read(seen),))
    refused = [change for change in seen.plan.changes if change in seen.refusals] if seen.refusals else []
    return Wanted(calls=(read(seen), *main(seen), *(alone(seen, change) for change in refused[:MOST_ALONE])))


# ---- what is said


def report(seen: SeenZone, _answers: Answers) -> Mapping[Hashable, ZoneReport]:
    trouble = seen.trouble
    stuck = _stuck(seen)
    confirmed = seen.plan is not None and seen.fresh
    return {
        subject.key: ZoneReport(
            uid=subject.uid,
            generation=subject.generation,
            wishes=subject.wishes,
            rows=tuple(rows(seen, subject, trouble)),
            known=seen.content is not None,
            fresh=seen.fresh,
            gone=confirmed and not _left(seen, subject),
            trouble=trouble or (stuck.get(subject.ref.resource, "") if subject.deleting else ""),
        )
        for subject in seen.subjects
    }


def rows(seen: SeenZone, subject: Subject, trouble: str) -> Iterable[Row]:
    if subject.deleting or subject.hidden:
        return
    for wish in subject.wishes.wishes:
        if wish.zone != seen.zone:
            continue
        verdict = seen.plan.verdicts.get((subject.ref, wish.index)) if seen.plan is not None else None
        if verdict is None:
            state = ROW_FAILED if trouble else PENDING
            yield Row(wish.index, state, state, trouble or "the name server has not been asked yet")
        else:
            yield row(seen, wish.index, verdict, trouble)


@cache
def programmed(index: int) -> Row:
    """By far the most rows: one for each place that a record can have in an object."""
    return Row(index, PROGRAMMED, PROGRAMMED)


def row(seen: SeenZone, index: int, verdict: Verdict, trouble: str) -> Row:
    if verdict.in_place:
        return programmed(index)
    if verdict.reason in ("Conflict", "NotOwned"):
        return Row(index, NOT_ACCEPTED, verdict.reason, verdict.message)
    if verdict.reason == "Policy":
        return Row(index, ROW_FAILED, ROW_FAILED, verdict.message)
    change = seen.at.get(verdict.slot)
    if change is not None and change in seen.refusals:
        return Row(index, ROW_FAILED, ROW_FAILED, seen.refusals[change])
    if trouble:
        return Row(index, ROW_FAILED, ROW_FAILED, trouble)
    return Row(index, PENDING, PENDING, "the name server has not confirmed it yet")


def _left(seen: SeenZone, subject: Subject) -> bool:
    """Whether something of the object is there, or a record that it names is about to change: it may be of several."""
    if seen.plan is None or subject.ref.resource in seen.plan.resources:
        return True
    return any(wish.record.slot in seen.at for wish in subject.wishes.wishes)


def _stuck(seen: SeenZone) -> dict[str, str]:
    """Why records of going objects are still there, by the objects' resource."""
    found = {}
    for slot, ownership in seen.plan.lingering.items() if seen.plan and seen.refusals else ():
        change = seen.at.get(slot)
        if change is not None and change in seen.refusals:
            found[ownership.resource] = seen.refusals[change]
    return found
