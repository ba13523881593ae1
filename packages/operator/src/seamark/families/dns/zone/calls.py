"""The calls of a zone, and why it can't be read or written by their results. Pure."""

from __future__ import annotations

from seamark.families.dns.zone.state import DEADLINES, Adjust, Ask, Changeset, Deadlines, Read, Trouble, Update
from seamark.providers.dns.model import Change, NoResponse
from seamark_runtime.calls import Call, Failed, Results

ASK_TIMEOUT = 60.0
SOONEST, SLOWEST = 10.0, 30.0  # the longest pause before a server that fails is asked again, by how often it is read


def trouble(changeset: Changeset, results: Results) -> Trouble:
    reading = (reading_zone(changeset), *adjusting(changeset))
    for call in (*reading, *updating(changeset)):
        if isinstance(failed := results.to(call), Failed):
            return Trouble(failed.message, call in reading, silent=isinstance(failed.error, NoResponse | None))
    return Trouble()


def reading_zone(changeset: Changeset) -> Call[None]:
    return read(changeset.zone, changeset.every, changeset.deadlines)


def read(zone: str, every: float, deadlines: Deadlines = DEADLINES) -> Call[None]:
    return Call(
        target=f"dns {zone} read",
        action=Read(zone),
        every=every,
        timeout=deadlines.reading,
        slowest=min(SLOWEST, max(SOONEST, every)),
    )


def updating(changeset: Changeset) -> tuple[Call[None], ...]:
    """Everything that has not been refused, in one call."""
    if not changeset.changes:
        return ()
    zone = changeset.zone
    action = Update(zone, changeset.changes, changeset.serial)
    return (Call(target=f"dns {zone} update", action=action, timeout=changeset.deadlines.updating, slowest=SLOWEST),)


def adjusting(changeset: Changeset) -> tuple[Call[None], ...]:
    if not changeset.adjust:
        return ()
    zone = changeset.zone
    action = Adjust(zone, changeset.adjust)
    return (Call(target=f"dns {zone} adjust", action=action, timeout=changeset.deadlines.reading, slowest=SLOWEST),)


def asking(changeset: Changeset) -> tuple[Call[None], ...]:
    """What the authoritative name servers answer; their silence is an answer, too."""
    if not changeset.ask:
        return ()
    zone = changeset.zone
    return (
        Call(
            target=f"dns {zone} ask",
            action=Ask(zone, changeset.ask, changeset.asking),
            timeout=ASK_TIMEOUT,
            slowest=SLOWEST,
        ),
    )


def retrying(changeset: Changeset, change: Change) -> Call[None]:
    """A change that was refused before, alone: it holds up no other."""
    zone, (name, type_, identifier) = changeset.zone, change.slot
    return Call(
        target=f"dns {zone} update {name} {type_} {identifier}",
        action=Update(zone, (change,), alone=True),
        timeout=changeset.deadlines.updating,
        slowest=SLOWEST,
    )
