"""A zone → its calls, and an entry about each object that has records there. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from seamark.families.dns.model.entries import (
    ANSWERED_OTHERWISE,
    NO_NAME_SERVER,
    NO_RESPONSE,
    NOT_ACCEPTED,
    NOT_QUERIED,
    PENDING,
    PROGRAMMED,
    ROW_FAILED,
    Ref,
    Row,
    ZoneReport,
)
from seamark.families.dns.model.lookups import Standing
from seamark.families.dns.planning.claims import Decision
from seamark.families.dns.zone.calls import adjusting, asking, reading_zone, retrying, updating
from seamark.families.dns.zone.state import RecordState, SeenZone, SubjectState, Trouble
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def desire(seen: SeenZone) -> Wanted:
    """Nothing is changed on a guess: only while the server answers, and has confirmed what it holds."""
    changeset = seen.changeset
    reading = (reading_zone(changeset), *asking(changeset))
    if not changeset.writable:
        return Wanted(calls=reading)
    retries = (retrying(changeset, change) for change in changeset.retries)
    return Wanted(calls=(*reading, *adjusting(changeset), *updating(changeset), *retries))


def report(seen: SeenZone, _answers: Answers) -> dict[Ref, ZoneReport | None]:
    return {ref: entry(seen, state) if state is not None else None for ref, state in seen.subjects.items()}


def entry(seen: SeenZone, state: SubjectState) -> ZoneReport:
    subject = state.subject
    return ZoneReport(
        uid=subject.uid,
        generation=subject.generation,
        desired=subject.desired,
        rows=tuple(rows(seen, state)),
        known=seen.known,
        fresh=seen.fresh,
        gone=seen.known and seen.fresh and subject.leaves(seen.zone) and not state.left,
        trouble=described(seen.trouble) or (state.refusal if subject.deleting else ""),
        confirmed=seen.confirmed,
    )


def described(trouble: Trouble) -> str:
    return f"{trouble.message} (since {trouble.since})" if trouble.silent else trouble.message


def rows(seen: SeenZone, state: SubjectState) -> Iterable[Row]:
    trouble = seen.trouble
    for record in state.records:
        if record.decision is not None:
            yield row(seen, record, record.decision)
        elif trouble.silent:
            yield Row(record.index, PENDING, NO_RESPONSE, described(trouble))
        elif trouble.message:
            yield Row(record.index, ROW_FAILED, ROW_FAILED, trouble.message)
        else:
            yield Row(record.index, PENDING, PENDING, "the name server has not been asked yet")


@cache
def programmed(index: int) -> Row:
    """By far the most rows: one for each index that a record can have in an object."""
    return Row(index, PROGRAMMED, PROGRAMMED)


def row(seen: SeenZone, record: RecordState, decision: Decision) -> Row:
    trouble = seen.trouble
    if decision.in_place:
        return shown(seen, record)
    if decision.reason in ("Conflict", "NotOwned"):
        return Row(record.index, NOT_ACCEPTED, decision.reason, decision.message)
    if message := failure(record, decision, trouble):
        return Row(record.index, ROW_FAILED, ROW_FAILED, message)
    return Row(record.index, PENDING, PENDING, "the name server has not confirmed it yet")


REASONS = {
    Standing.SETTLING: PENDING,
    Standing.NOT_COMPARABLE: "NotComparable",
    Standing.NO_SERVER: NO_NAME_SERVER,
    Standing.EXPIRED: NO_RESPONSE,
    Standing.NOT_QUERIED: NOT_QUERIED,
}


def shown(seen: SeenZone, record: RecordState) -> Row:
    """A record that the server holds as wanted, by what its authoritative name servers answer to a resolver."""
    standing, message = record.shown
    if standing is Standing.DIFFERS:
        return Row(record.index, ROW_FAILED, ANSWERED_OTHERWISE, message)
    if seen.silence and standing is not Standing.NO_SERVER:
        return Row(record.index, PENDING, NO_RESPONSE, seen.silence)
    if standing is Standing.SERVED:
        return programmed(record.index)
    return Row(record.index, PENDING, REASONS[standing], message)


def failure(record: RecordState, decision: Decision, trouble: Trouble) -> str:
    """Why a record is not served, by the latest response; empty while nothing has failed."""
    if decision.reason == "Policy":
        return decision.message
    if trouble.unanswered:
        return described(trouble)
    if decision.reason == "Refused":
        return decision.message
    return described(trouble) if record.refusal is None else record.refusal
