"""The calls of a zone, and why it can't be read or written by their results. Pure."""

from __future__ import annotations

from seamark.families.dns.zone.state import Adjust, Changeset, Read, Trouble, Update
from seamark.providers.dns.model import Change
from seamark_runtime.calls import Call, Failed, Results

READ_TIMEOUT, UPDATE_TIMEOUT = 60.0, 120.0
SOONEST, SLOWEST = 10.0, 30.0  # the longest pause before a server that fails is asked again, by how often it is read


def trouble(changeset: Changeset, results: Results) -> Trouble:
    asking = (read(changeset.zone, changeset.every), *adjusting(changeset))
    for call in (*asking, *updating(changeset)):
        if isinstance(failed := results.to(call), Failed):
            return Trouble(failed.message, call in asking)
    return Trouble()


def read(zone: str, every: float) -> Call[None]:
    return Call(
        target=f"dns {zone} read",
        action=Read(zone),
        every=every,
        timeout=READ_TIMEOUT,
        slowest=min(SLOWEST, max(SOONEST, every)),
    )


def updating(changeset: Changeset) -> tuple[Call[None], ...]:
    """Everything that has not been refused, in one call."""
    if not changeset.changes:
        return ()
    zone = changeset.zone
    action = Update(zone, changeset.changes, changeset.serial)
    return (Call(target=f"dns {zone} update", action=action, timeout=UPDATE_TIMEOUT, slowest=SLOWEST),)


def adjusting(changeset: Changeset) -> tuple[Call[None], ...]:
    if not changeset.adjust:
        return ()
    zone = changeset.zone
    action = Adjust(zone, changeset.adjust)
    return (Call(target=f"dns {zone} adjust", action=action, timeout=READ_TIMEOUT, slowest=SLOWEST),)


def retrying(zone: str, change: Change) -> Call[None]:
    """A change that was refused before, alone: it holds up no other."""
    name, type_, identifier = change.slot
    return Call(
        target=f"dns {zone} update {name} {type_} {identifier}",
        action=Update(zone, (change,), alone=True),
        timeout=UPDATE_TIMEOUT,
        slowest=SLOWEST,
    )
