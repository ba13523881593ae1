"""A zone → its calls, and an entry about each object that has records there. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from seamark.families.dns.model.entries import NOT_ACCEPTED, PENDING, PROGRAMMED, ROW_FAILED, Ref, Row, ZoneReport
from seamark.families.dns.planning.claims import Decision
from seamark.families.dns.zone.calls import adjusting, read, retrying, updating
from seamark.families.dns.zone.state import RecordState, SeenZone, SubjectState, Trouble
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def desire(seen: SeenZone) -> Wanted:
    """Nothing is changed on a guess: only while the server answers, and has confirmed what it holds."""
    changeset = seen.changeset
    reading = read(changeset.zone, changeset.every)
    if not changeset.writable:
        return Wanted(calls=(reading,))
    retries = (retrying(changeset.zone, change) for change in changeset.retries)
    return Wanted(calls=(reading, *adjusting(changeset), *updating(changeset), *retries))


def report(seen: SeenZone, _answers: Answers) -> dict[Ref, ZoneReport | None]:
    return {ref: entry(seen, state) if state is not None else None for ref, state in seen.subjects.items()}


def entry(seen: SeenZone, state: SubjectState) -> ZoneReport:
    subject = state.subject
    return ZoneReport(
        uid=subject.uid,
        generation=subject.generation,
        desired=subject.desired,
        rows=tuple(rows(state, seen.trouble)),
        known=seen.known,
        fresh=seen.fresh,
        gone=seen.known and seen.fresh and subject.leaves(seen.zone) and not state.left,
        trouble=seen.trouble.message or (state.refusal if subject.deleting else ""),
    )


def rows(state: SubjectState, trouble: Trouble) -> Iterable[Row]:
    for record in state.records:
        if record.decision is not None:
            yield row(record, record.decision, trouble)
        elif trouble.message:
            yield Row(record.index, ROW_FAILED, ROW_FAILED, trouble.message)
        else:
            yield Row(record.index, PENDING, PENDING, "the name server has not been asked yet")


@cache
def programmed(index: int) -> Row:
    """By far the most rows: one for each index that a record can have in an object."""
    return Row(index, PROGRAMMED, PROGRAMMED)


def row(record: RecordState, decision: Decision, trouble: Trouble) -> Row:
    if decision.in_place:
        return programmed(record.index)
    if decision.reason in ("Conflict", "NotOwned"):
        return Row(record.index, NOT_ACCEPTED, decision.reason, decision.message)
    if message := failure(record, decision, trouble):
        return Row(record.index, ROW_FAILED, ROW_FAILED, message)
    return Row(record.index, PENDING, PENDING, "the name server has not confirmed it yet")


def failure(record: RecordState, decision: Decision, trouble: Trouble) -> str:
    """Why a record is not served, by the latest response; empty while nothing has failed."""
    if decision.reason == "Policy":
        return decision.message
    if trouble.unanswered:
        return trouble.message
    if decision.reason == "Refused":
        return decision.message
    return trouble.message if record.refusal is None else record.refusal
