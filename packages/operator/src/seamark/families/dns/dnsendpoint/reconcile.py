"""A DNSEndpoint → our mark on it, and its status from the entries of its zones. No client, no clock."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.api.dns import MOST_SHOWN, DNSEndpointStatus, EndpointStatus
from seamark.families.dns.dnsendpoint.state import ACCEPTED, FAILED, NOTHING, READY, SYNCED, Seen
from seamark.families.dns.model.entries import (
    ANSWERED_OTHERWISE,
    FINALIZER,
    LONGEST_MESSAGE,
    NO_RESPONSE,
    NOT_ACCEPTED,
    NOT_QUERIED,
    PENDING,
    PROGRAMMED,
    ROW_FAILED,
    ZONES,
    Row,
)
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers
from seamark_runtime.conditions import TRUE, UNKNOWN
from seamark_runtime.controller import Wanted
from seamark_runtime.events import Notice
from seamark_runtime.redaction import redact

ORDER = (NOT_ACCEPTED, ROW_FAILED, PENDING, PROGRAMMED)  # failed ones first
REFUSALS = ("Invalid", "Unsupported", "Filtered", "Conflict", "NotOwned")


def desire(seen: Seen) -> Wanted:
    zones = kept_zones(seen)
    if not zones or not seen.rules.finalizing:
        return Wanted()
    return Wanted(annotations={ZONES: ",".join(zone or "." for zone in sorted(zones))}, finalizer=True)


def kept_zones(seen: Seen) -> set[str]:
    """Zones with records of it, and zones that have not confirmed yet that nothing is left."""
    leaving = {zone for zone in seen.remembered if zone in seen.rules.zones and not gone(seen, zone)}
    return leaving if seen.endpoint.deleting else leaving | set(seen.desired.zones)


def gone(seen: Seen, zone: str) -> bool:
    report = seen.reports.get(zone)
    return report is not None and report.gone


def judge(seen: Seen, _answers: Answers) -> DNSEndpointStatus:
    rows = tuple(all_rows(seen))
    accepted = accepted_as(seen, rows)
    if seen.endpoint.deleting:
        ready = removing_as(seen)
    else:
        ready = ready_as(seen, accepted, rows) if seen.endpoint.spec.endpoints else nothing_as(seen)
    return DNSEndpointStatus(conditions=(accepted, ready), endpoints=shown(seen, rows))


def all_rows(seen: Seen) -> Iterable[Row]:
    """Every record once, in the order of the spec."""
    found = {
        problem.index: Row(problem.index, NOT_ACCEPTED, problem.reason, problem.message)
        for problem in seen.desired.problems
    }
    reported = {row.index: row for report in seen.reports.values() for row in report.rows}
    for desired in seen.desired.records:
        waiting = Row(desired.index, PENDING, PENDING, "the name server has not been asked yet")
        found[desired.index] = reported.get(desired.index, waiting)
    return [found[index] for index in sorted(found)]


def accepted_as(seen: Seen, rows: tuple[Row, ...]) -> Condition:
    for reason in REFUSALS:
        refused = [row for row in rows if row.reason == reason and row.state == NOT_ACCEPTED]
        if refused:
            return ACCEPTED.false(reason, summary(refused))
    if any(seen.pending(zone) for zone in seen.desired.zones):
        return ACCEPTED.not_yet("Pending", "The name server has not been asked yet")
    if not seen.endpoint.spec.endpoints:
        return ACCEPTED.true("NothingToPublish", NOTHING)
    return ACCEPTED.true("Accepted", "All records are accepted")


def ready_as(seen: Seen, accepted: Condition, rows: tuple[Row, ...]) -> Condition:
    if accepted.status == "False":
        return READY.false("NotAccepted", accepted.message)
    if failed := [row for row in rows if row.state == ROW_FAILED]:
        otherwise = all(row.reason == ANSWERED_OTHERWISE for row in failed)
        reason = ANSWERED_OTHERWISE if otherwise else "Failed"
        return READY.false(reason, ("" if otherwise else FAILED) + summary(named(seen, failed)))
    if any(seen.pending(zone) for zone in seen.desired.zones):
        return unread_as(seen, rows)
    if waiting := [row for row in rows if row.state == PENDING]:
        return waiting_as(seen, waiting)
    stale = [seen.reports[zone] for zone in seen.desired.zones if not seen.reports[zone].fresh]
    if stale:
        trouble = f": {stale[0].trouble}" if stale[0].trouble else ""
        message = f"The name server has not confirmed the records since {stale[0].confirmed}{trouble}"
        return READY.unknown(NO_RESPONSE, message)
    return READY.true("Programmed", SYNCED)


def unread_as(seen: Seen, rows: tuple[Row, ...]) -> Condition:
    """In a zone that was not read since the start of the operator nothing new is known: what was Unknown stays so."""
    before = ready_before(seen)
    if before is not None and before.status == UNKNOWN and before.reason in READY.reasons:
        return READY.unknown(before.reason, before.message)
    silent = [row for row in rows if row.reason == NO_RESPONSE]
    message = summary(named(seen, silent)) if silent else "The name server has not been asked yet"
    return READY.not_yet(NO_RESPONSE if silent else "Pending", message)


def waiting_as(seen: Seen, waiting: list[Row]) -> Condition:
    """What was true of this generation and is not any more is written at once; a first status waits for a response."""
    found = [row for row in waiting if row.reason not in (PENDING, NOT_QUERIED)]
    if found:
        return READY.unknown(found[0].reason, summary(named(seen, found)))
    message = summary(named(seen, waiting))
    known = [row for row in waiting if row.reason != NOT_QUERIED]
    return READY.unknown("Pending", message) if known and was_ready(seen) else READY.not_yet("Pending", message)


def nothing_as(seen: Seen) -> Condition:
    """Of an object without records, what it had before may still be on the server."""
    for zone in seen.remembered:
        if zone in seen.rules.zones and not gone(seen, zone):
            report = seen.reports.get(zone)
            if report is not None and report.trouble:
                return READY.false("Failed", f"{FAILED}the former records can't be removed: {report.trouble}")
            return READY.not_yet("Pending", "The former records are being removed")
    return READY.true("NothingToPublish", NOTHING)


def removing_as(seen: Seen) -> Condition:
    """Why a deletion is not finished, with the server's error if there is one, and what to do."""
    for zone in seen.remembered:
        report = seen.reports.get(zone)
        if report is not None and report.trouble and not report.gone:
            way_out = f"To let the object go before its records, remove the finalizer {FINALIZER}"
            return READY.false("Failed", f"{FAILED}the records can't be removed: {report.trouble}. {way_out}")
    return READY.unknown("Pending", "The records are being removed")


def announce(seen: Seen, _answers: Answers) -> Iterable[Notice]:
    lost = [zone for zone in seen.remembered if zone not in seen.rules.zones]
    if not lost:
        return ()
    message = f"Records in {', '.join(lost)} are left as they are: that zone is not served here any more"
    return (Notice("ZoneNotServed", message),)


def was_ready(seen: Seen) -> bool:
    before = ready_before(seen)
    return before is not None and before.status == TRUE


def ready_before(seen: Seen) -> Condition | None:
    """Ready as it was written for this generation."""
    status = seen.endpoint.status
    for condition in status.conditions if status is not None else ():
        if condition.type == READY.name and condition.observed_generation == seen.endpoint.metadata.generation:
            return condition
    return None


def named(seen: Seen, rows: list[Row]) -> list[Row]:
    """With the name of the record in front of what happened to it."""
    endpoints = seen.endpoint.spec.endpoints
    return [
        Row(
            row.index,
            row.state,
            row.reason,
            f"{(endpoint := endpoints[row.index]).dns_name} {endpoint.record_type}: {row.message}",
        )
        for row in rows
    ]


def summary(rows: list[Row]) -> str:
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return rows[0].message + more


def shown(seen: Seen, rows: tuple[Row, ...]) -> tuple[EndpointStatus, ...]:
    if seen.endpoint.deleting:
        return ()
    if ready_before(seen) is not None and any(seen.pending(zone) for zone in seen.desired.zones):
        status = seen.endpoint.status  # nothing new is known before the zone was read
        return status.endpoints if status is not None else ()
    endpoints = seen.endpoint.spec.endpoints
    if len(rows) > MOST_SHOWN:
        rows = tuple(sorted(rows, key=lambda row: (ORDER.index(row.state), row.index)))[:MOST_SHOWN]
    return tuple(
        EndpointStatus(
            dns_name=endpoints[row.index].dns_name[:LONGEST_MESSAGE],
            record_type=endpoints[row.index].record_type[:LONGEST_MESSAGE],
            state=row.state,
            reason=row.reason,
            message=redact(row.message, LONGEST_MESSAGE),  # conditions do this by themselves
        )
        for row in rows
    )
