"""Which operators lead, by their Leases: the statuses of a stopped operator are as of its last renewal.

- A Lease has a mark and the names of the families that its operator runs (`seamark_runtime.leader`).
- Its age is compared with the clock of the API server where that is known, so the clock here need not be right.
- The time that is shown is fixed: that of the last renewal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from seamark.explain import kinds
from seamark.explain.model import Hop, Raw
from seamark.explain.reader import Forbidden, Missing, Reader
from seamark.explain.summary import FAMILIES
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.leader import FAMILIES_ANNOTATION, MARK

GRACE = timedelta(seconds=5)  # for a renewal that is under way, and clocks that differ a little
FAMILY = {resource: family for family, resources in FAMILIES.items() for resource in resources}


@dataclass(frozen=True)
class OperatorLease:
    """`families` is empty where they are not known; so is `as_of` while an operator leads."""

    key: Key
    families: tuple[str, ...] = ()
    as_of: str = ""

    def __str__(self) -> str:
        of = ", ".join(self.families)
        return f"{of} (Lease {self.key})" if of else f"Lease {self.key}"

    def concerns(self, resource: Resource) -> bool:
        """Whether its operator may write the status of this kind."""
        if not self.families:
            return resource in kinds.OURS
        return FAMILY.get(resource, "?") in {family.partition("-")[0] for family in self.families}


@dataclass(frozen=True)
class Leadership:
    """`unknown` says why nothing is known of any operator; empty if there is a Lease that can be read."""

    leases: tuple[OperatorLease, ...] = ()
    unknown: str = ""

    @property
    def stopped(self) -> tuple[OperatorLease, ...]:
        return tuple(lease for lease in self.leases if lease.as_of)

    def as_of(self, resource: Resource) -> str:
        """The oldest time that the statuses of this kind may be of; empty if their operators lead."""
        return min((lease.as_of for lease in self.stopped if lease.concerns(resource)), default="")

    def notes(self) -> tuple[str, ...]:
        if self.unknown:
            return (f"Whether an operator leads is not known: {self.unknown}.",)
        return tuple(
            f"No operator leads since {lease.as_of}: {lease}. Statuses are as of then." for lease in self.stopped
        )


async def leadership(reader: Reader) -> Leadership:
    found = await reader.list_all(kinds.LEASE, labels=MARK)
    if isinstance(found, Forbidden):
        return Leadership(unknown="you may not list Leases")
    if isinstance(found, Missing) or not found:
        return Leadership(unknown="there is no Lease of one")
    return read(found, reader.server_time or datetime.now(UTC))


def read(found: Iterable[Raw], now: datetime) -> Leadership:
    return Leadership(tuple(_lease(raw, now) for raw in found))


def _lease(raw: Raw, now: datetime) -> OperatorLease:
    metadata, spec = raw.get("metadata") or {}, raw.get("spec") or {}
    names = (metadata.get("annotations") or {}).get(FAMILIES_ANNOTATION) or ""
    lease = OperatorLease(
        Key(metadata.get("namespace", ""), metadata.get("name", "")), tuple(filter(None, names.split(",")))
    )
    try:
        renewed = datetime.fromisoformat(spec["renewTime"])
        lasts = timedelta(seconds=int(spec["leaseDurationSeconds"]))
        leads = bool(spec.get("holderIdentity")) and renewed + lasts + GRACE >= now
    except (KeyError, TypeError, ValueError, OverflowError):  # another writer's
        return replace(lease, as_of="an unknown time")
    return lease if leads else replace(lease, as_of=f"{renewed.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")


def dated(hop: Hop, leaders: Leadership) -> Hop:
    """Every hop with the time that its status is of, if no operator keeps it up to date.

    The first hop may be of a kind that several families write to (a Service): then the oldest of all counts.
    """
    dated_hop = _dated(hop, leaders)
    if leaders.stopped and not any(below.as_of for below in dated_hop.walk()):
        return replace(dated_hop, as_of=min(lease.as_of for lease in leaders.stopped))
    return dated_hop


def _dated(hop: Hop, leaders: Leadership) -> Hop:
    hops = tuple(_dated(below, leaders) for below in hop.hops)
    return replace(hop, hops=hops, as_of=leaders.as_of(hop.resource))
