"""A zone: one key for all objects that have records there. What is known of each is left as a report. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from seamark.families.dns.claims import Verdict
from seamark.families.dns.ledger import Ledger, Subject
from seamark.families.dns.planning import ZonePlan
from seamark.families.dns.state import (
    NOT_ACCEPTED,
    PENDING,
    PROGRAMMED,
    ROW_FAILED,
    Adjust,
    Read,
    Refusals,
    Row,
    Update,
    ZoneReport,
)
from seamark.providers.dns.model import Change, Content
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Call, Failed, Results
from seamark_runtime.controller import Wanted

READ_TIMEOUT, UPDATE_TIMEOUT = 60.0, 120.0
SOONEST, SLOWEST = 10.0, 30.0  # the longest pause before a server that fails is asked again, by how often it is read


@dataclass(frozen=True)
class SeenZone:
    """A zone at one moment. `subjects` are those about which there may be something new to say; None for what is gone.

    `ledger` is read in the same pass and no later. `due` are refused changes whose time to be tried again has come.
    """

    ledger: Ledger
    subjects: Mapping[Hashable, Subject | None]
    fresh: bool
    refusals: Refusals
    due: Sequence[Change]
    results: Results
    every: float

    @property
    def zone(self) -> str:
        return self.ledger.zone

    @property
    def plan(self) -> ZonePlan:
        return self.ledger.plan

    @property
    def content(self) -> Content | None:
        return self.ledger.plan.content


class Trouble(NamedTuple):
    """Why the zone can't be read or written, in the server's words.

    - `unanswered`: it gives no usable answer at all. That is later than any refusal of a single record, which is tried
      again only while it answers.
    """

    words: str = ""
    unanswered: bool = False


def trouble(seen: SeenZone) -> Trouble:
    asking = (read(seen), *adjusting(seen))
    for call in (*asking, *main(seen)):
        if isinstance(failed := seen.results.to(call), Failed):
            return Trouble(failed.message, call in asking)
    return Trouble()


# ---- what is wanted


def read(seen: SeenZone) -> Call[None]:
    return Call(
        target=f"dns {seen.zone} read",
        action=Read(seen.zone),
        every=seen.every,
        timeout=READ_TIMEOUT,
        slowest=min(SLOWEST, max(SOONEST, seen.every)),
    )


def main(seen: SeenZone) -> tuple[Call[None], ...]:
    """Everything that has not been refused, in one call."""
    if seen.content is None or not seen.plan.pending:
        return ()
    changes = tuple(change for change in seen.plan.changes if change not in seen.refusals)
    if not changes:
        return ()
    action = Update(seen.zone, changes, seen.content.serial)
    return (Call(target=f"dns {seen.zone} update", action=action, timeout=UPDATE_TIMEOUT, slowest=SLOWEST),)


def adjusting(seen: SeenZone) -> tuple[Call[None], ...]:
    """What the provider has to be asked before it can be planned."""
    records = tuple(record for asks in seen.plan.asked.values() for record in asks)
    if not records:
        return ()
    action = Adjust(seen.zone, records)
    return (Call(target=f"dns {seen.zone} adjust", action=action, timeout=READ_TIMEOUT, slowest=SLOWEST),)


def alone(seen: SeenZone, change: Change) -> Call[None]:
    name, type_, identifier = change.slot
    return Call(
        target=f"dns {seen.zone} update {name} {type_} {identifier}",
        action=Update(seen.zone, (change,), alone=True),
        timeout=UPDATE_TIMEOUT,
        slowest=SLOWEST,
    )


def desire(seen: SeenZone) -> Wanted:
    """Nothing is changed on a guess: only while the server answers, and has confirmed what it holds."""
    if not seen.fresh or seen.content is None or isinstance(seen.results.to(read(seen)), Failed):
        return Wanted(calls=(read(seen),))
    again = [alone(seen, change) for change in seen.due]
    return Wanted(calls=(read(seen), *adjusting(seen), *main(seen), *again))


# ---- entries


def report(seen: SeenZone, _answers: Answers) -> dict[Hashable, ZoneReport | None]:
    found = trouble(seen)
    return {
        key: report_on(seen, subject, found) if subject is not None else None for key, subject in seen.subjects.items()
    }


def report_on(seen: SeenZone, subject: Subject, found: Trouble) -> ZoneReport:
    return ZoneReport(
        uid=subject.uid,
        generation=subject.generation,
        wishes=subject.wishes,
        rows=tuple(rows(seen, subject, found)),
        known=seen.content is not None,
        fresh=seen.fresh,
        gone=seen.content is not None and seen.fresh and subject.leaves(seen.zone) and not _left(seen, subject),
        trouble=found.words or (_stuck(seen, subject) if subject.deleting else ""),
    )


def rows(seen: SeenZone, subject: Subject, found: Trouble) -> Iterable[Row]:
    if subject.deleting or subject.hidden:
        return
    for wish in subject.wishes.wishes:
        if wish.zone != seen.zone:
            continue
        verdict = seen.plan.name(wish.record.name).verdicts.get((subject.ref, wish.index))
        if verdict is None:
            state = ROW_FAILED if found.words else PENDING
            yield Row(wish.index, state, state, found.words or "the name server has not been asked yet")
        else:
            yield row(seen, wish.index, verdict, found)


@cache
def programmed(index: int) -> Row:
    """By far the most rows: one for each place that a record can have in an object."""
    return Row(index, PROGRAMMED, PROGRAMMED)


def row(seen: SeenZone, index: int, verdict: Verdict, found: Trouble) -> Row:
    if verdict.in_place:
        return programmed(index)
    if verdict.reason in ("Conflict", "NotOwned"):
        return Row(index, NOT_ACCEPTED, verdict.reason, verdict.message)
    if words := failure(seen, verdict, found):
        return Row(index, ROW_FAILED, ROW_FAILED, words)
    return Row(index, PENDING, PENDING, "the name server has not confirmed it yet")


def failure(seen: SeenZone, verdict: Verdict, found: Trouble) -> str:
    """Why a record is not served, by the latest answer; empty while nothing has gone wrong."""
    if verdict.reason == "Policy":
        return verdict.message
    if found.unanswered:
        return found.words
    if verdict.reason == "Refused":
        return verdict.message
    change = seen.plan.at.get(verdict.slot)
    return seen.refusals.get(change, found.words) if change is not None else found.words


def _left(seen: SeenZone, subject: Subject) -> bool:
    """Whether something of the object is there, or a record that it names is about to change: it may be of several."""
    if seen.plan.left(subject.stake(seen.zone)):
        return True
    return any(wish.record.slot in seen.plan.at for wish in subject.wishes.wishes)


def _stuck(seen: SeenZone, subject: Subject) -> str:
    """Why records of a going object are still there."""
    for slot in seen.plan.registry.of(subject.ref.resource):
        change = seen.plan.at.get(slot)
        if change is not None and change in seen.refusals:
            return seen.refusals[change]
    return ""
