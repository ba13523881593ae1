"""All seeded bugs."""

from __future__ import annotations

from tests.simulation.bugs import (
    boundaries,
    dataplanes,
    filters,
    identity,
    impurity,
    isolation,
    leading,
    nameservers,
    outages,
    probes,
    processes,
    retries,
    runtimes,
    staleness,
    statuses,
    tenants,
    untrusted,
)
from tests.simulation.bugs.bug import Bug

PARTS = (
    *(staleness, retries, identity, leading, statuses, untrusted, tenants),
    *(filters, boundaries, isolation, outages, probes, processes, runtimes),
    *(impurity, nameservers, dataplanes),
)
BANK: tuple[Bug, ...] = tuple(bug for part in PARTS for bug in part.BUGS.found)


def named(name: str) -> Bug:
    return next(bug for bug in BANK if bug.name == name)
